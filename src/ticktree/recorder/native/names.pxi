# Names: any text, cut to what a record holds.


cdef bytes name_bytes(object name, bint* cut):
    """UTF-8 of any object's text; what UTF-8 cannot say is escaped."""
    if not isinstance(name, str):
        try:
            name = str(name)
        except Exception:
            name = "(unprintable)"
    cdef bytes text = (<str>name).encode("utf-8", "backslashreplace") or b"(empty)"
    cut[0] = len(text) > TT_NAME_LIMIT
    if cut[0]:
        text = text[:TT_NAME_LIMIT].decode("utf-8", "ignore").encode("utf-8")
    return text


cdef tt_ref store_text(tt_recorder* core, dict known, str text):
    """The reference of a text in the memory file, stored once."""
    cdef object ref = known.get(text)
    if ref is None:
        data = text.encode("utf-8", "backslashreplace")[:4096]
        ref = tt_store_text(core, <const char*>data, <uint32_t>len(data))
        known[text] = ref
    return ref
