# Names: any text, cut to what a record holds.


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
