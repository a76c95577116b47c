# What programs pass: numbers of the core's, and names cut to what a record holds; or one clear error.
#
# A wrong kind of argument is a mistake in the program's text: it raises, whether anything is recorded or not. A number
# that is negative or not finite may be data, such as the difference of two clocks: as a value it is counted as a loss.


cdef str shown(object value):
    """A value in an error message: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # whatever its own __repr__ raises
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


cdef double as_double(object value, str what) except? -1:
    """A number as the core takes it; not a number (nan) where its own conversion fails, or it is beyond any float."""
    if type(value) is float:
        return value
    if not isinstance(value, TEXTS):
        try:
            return float(value)
        except TypeError:
            pass
        except Exception:  # whatever the value's own conversion raises
            return float("nan")
    raise TypeError(f"{what} must be a number, not {shown(value)}")


cdef tuple TEXTS = (str, bytes, bytearray)  # float() and int() read these; a program that passes one forgot to


cdef double checked_hz(object hz) except -1:
    if hz is None:
        return 0
    if isinstance(hz, bool):
        raise TypeError(f"hz must be a number, not {hz}")
    cdef double rate = as_double(hz, "hz")
    if not (isfinite(rate) and rate >= 1e-9):
        raise ValueError(f"hz must be a positive number of ticks a second, not {shown(hz)}")
    return rate


cdef uint64_t checked_warmup(object ticks) except? 0:
    if ticks is None:
        return TT_WARMUP_FOUND
    try:
        ticks = operator.index(ticks)
    except TypeError:
        raise TypeError(f"warmup must be a whole number of ticks or None, not {shown(ticks)}") from None
    if ticks < 0:
        raise ValueError(f"warmup must be 0 ticks or more, not {ticks}")
    return min(ticks, TT_WARMUP_FOUND - 1)


cdef str name_text(object name, str whose="a section's"):
    """The text of a name; a TypeError where it is no str. An empty one is a name: only the program's data may say it."""
    if type(name) is str:
        return <str>name
    if isinstance(name, str):  # a subclass: its text, whatever its own __str__ says
        return str.__str__(name)
    raise TypeError(f"{whose} name must be a str, not {shown(name)}")


cdef bytes name_bytes(str name, bint* cut):
    """A name as a record holds it, in UTF-8; what UTF-8 cannot say is escaped."""
    cdef bytes text = name.encode("utf-8", "backslashreplace") or b"(empty)"
    cut[0] = len(text) > TT_NAME_LIMIT
    return text[:TT_NAME_LIMIT].decode("utf-8", "ignore").encode("utf-8") if cut[0] else text


cdef tt_ref store_text(tt_recorder* core, dict known, str text):
    """The reference of a text in the memory file, stored once."""
    cdef object ref = known.get(text)
    if ref is None:
        data = text.encode("utf-8", "backslashreplace")[:4096]
        ref = tt_store_text(core, <const char*>data, <uint32_t>len(data))
        known[text] = ref
    return ref
