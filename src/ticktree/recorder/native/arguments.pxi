# Arguments of programs: converted to the core's numbers and to names that fit into a record, or refused with one clear error.
#
# An argument of a wrong type is a mistake in the program's code: it raises, whether anything is recorded or not. A number
# that is negative or not finite may be data, such as the difference of two clocks: as a value it is counted as a loss.


cdef str shorten(object value):
    """A short text of any value, for an error message."""
    try:
        text = repr(value)
    except Exception:  # whatever its own __repr__ raises
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


cdef double as_double(object value, str label) except? -1:
    """Converts a number; nan if its own conversion fails, or no float can hold it."""
    if type(value) is float:
        return value
    if not isinstance(value, TEXTS):
        try:
            return float(value)
        except TypeError:
            pass
        except Exception:  # whatever the value's own conversion raises
            return float("nan")
    raise TypeError(f"{label} must be a number, not {shorten(value)}")


cdef tuple TEXTS = (str, bytes, bytearray)  # float() and int() would read these; the program forgot to


cdef double checked_hz(object hz) except -1:
    if hz is None:
        return 0
    if isinstance(hz, bool):
        raise TypeError(f"hz must be a number, not {hz}")
    cdef double rate = as_double(hz, "hz")
    if not (isfinite(rate) and rate >= 1e-9):
        raise ValueError(f"hz must be a positive number of ticks a second, not {shorten(hz)}")
    return rate


cdef uint64_t checked_warmup(object ticks) except? 0:
    if ticks is None:
        return TT_WARMUP_FOUND
    try:
        ticks = operator.index(ticks)
    except TypeError:
        raise TypeError(f"warmup must be a whole number of ticks or None, not {shorten(ticks)}") from None
    if ticks < 0:
        raise ValueError(f"warmup must be 0 ticks or more, not {ticks}")
    return min(ticks, TT_WARMUP_FOUND - 1)


cdef str name_text(object name, str whose="a section's"):
    """The text of a name; a TypeError if it is no str. An empty name is valid: it may come from the program's data."""
    if type(name) is str:
        return <str>name
    if isinstance(name, str):  # a subclass: its text, whatever its own __str__ returns
        return str.__str__(name)
    raise TypeError(f"{whose} name must be a str, not {shorten(name)}")


cdef bytes name_bytes(str name, bint* cut):
    """The bytes of a name in a record, in UTF-8; what UTF-8 cannot express is escaped."""
    cdef bytes text = name.encode("utf-8", "backslashreplace") or b"(empty)"
    cut[0] = len(text) > TT_NAME_LIMIT
    return text[:TT_NAME_LIMIT].decode("utf-8", "ignore").encode("utf-8") if cut[0] else text


cdef tt_ref store_text(tt_recorder* core, dict refs, str text):
    """The reference of a text in the memory file, stored once."""
    cdef object ref = refs.get(text)
    if ref is None:
        data = text.encode("utf-8", "backslashreplace")[:4096]
        ref = tt_store_text(core, <const char*>data, <uint32_t>len(data))
        refs[text] = ref
    return ref
