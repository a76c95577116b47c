# Signals and waits: names and keys as 64-bit channels, the same in every process.

CHANNELS_NAME = "channels.ttc"  # run/memory.py removes it with the memory files
cdef enum: KEY_DEPTH = 16

cdef uint64_t hash_tagged(uint64_t hash, char tag, const void* data, uint64_t length) noexcept:
    hash = tt_hash(hash, &tag, 1)
    hash = tt_hash(hash, &length, sizeof(length))
    return tt_hash(hash, data, length)


cdef bint hash_key(object key, uint64_t* hash, int depth) except -1:
    """Adds a key to a hash; False for what is no key. Never Python's own hash(), which differs between processes."""
    cdef bytes data
    cdef int64_t number
    cdef int overflow = 0
    if key is None:
        hash[0] = hash_tagged(hash[0], b"n", b"", 0)
    elif isinstance(key, int):
        number = PyLong_AsLongLongAndOverflow(key, &overflow)
        if not overflow:
            hash[0] = hash_tagged(hash[0], b"i", &number, sizeof(number))
        else:
            data = int.to_bytes(key, int.bit_length(key) // 8 + 1, "little", signed=True)
            hash[0] = hash_tagged(hash[0], b"i", <const char*>data, len(data))
    elif isinstance(key, str):
        data = str.encode(key, "utf-8", "surrogatepass")
        hash[0] = hash_tagged(hash[0], b"s", <const char*>data, len(data))
    elif isinstance(key, bytes):
        data = bytes(key)
        hash[0] = hash_tagged(hash[0], b"b", <const char*>data, len(data))
    elif isinstance(key, tuple) and depth < KEY_DEPTH:
        hash[0] = hash_tagged(hash[0], b"t", b"", 0)
        for item in tuple.__iter__(key):
            if not hash_key(item, hash, depth + 1):
                return False
        hash[0] = hash_tagged(hash[0], b"e", b"", 0)
    else:
        return False
    return True


cdef uint64_t channel_of(object name, object key) noexcept:
    """The channel of a name and a key; 0 where the key is none."""
    cdef uint64_t hash = TT_HASH_BEGIN
    try:
        if hash_key(name_text(name), &hash, 0) and hash_key(key, &hash, 0):
            return tt_hash_end(hash)
    except Exception:  # whatever a subclass of int or tuple does
        pass
    return 0


def channel(name, key=None):
    """The channel of a name and a key, as it is in every process: 64 bits; 0 where the key is none."""
    return channel_of(name, key)


cdef tt_channels* channels_of(Recorder recorder, bint own) noexcept:
    """Where signals are left: the run's table, or the process's own. Opened when first needed; NULL without memory."""
    cdef tt_recorder* core = recorder.core
    cdef bytes encoded = b""
    if own:
        if core.own == NULL:
            core.own = tt_channels_open(NULL, 0)
        return core.own
    if core.shared == NULL:
        try:
            if recorder.path_of_file is not None:
                encoded = os.fsencode(os.path.join(os.path.dirname(recorder.path_of_file), CHANNELS_NAME))
        except Exception:
            encoded = b""
        core.shared = tt_channels_open(<const char*>encoded if encoded else NULL, core.arena.file_limit)
    return core.shared


cdef bint ready(Recorder recorder) noexcept:
    """Whether the memory may be written; a forked child is first given its own."""
    if recorder.core.forked and not rearm(recorder.core):
        return False
    return recorder.core.recording


cdef void leave_signal(Recorder recorder, uint64_t at, bint own) noexcept:
    if not ready(recorder):
        return
    if at:
        tt_signal(recorder.core, channels_of(recorder, own), at)
    else:
        tt_lose(recorder.core, TT_LOSS_BAD_VALUES)


cdef uint32_t channel_id(Recorder recorder, object name) noexcept:
    """The name of a channel, as a section's."""
    try:
        known = recorder.channel_ids.get(name) if type(name) is str else None
        if known is None:
            text = name_text(name)
            known = recorder._name_id(text)
            if len(recorder.channel_ids) < TT_NAME_CAP:
                recorder.channel_ids[text] = known
        return known
    except Exception:
        return TT_NAMELESS
