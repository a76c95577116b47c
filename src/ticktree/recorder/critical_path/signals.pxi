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
    """The channel of a name and a key; 0 for an invalid key."""
    cdef uint64_t hash = TT_HASH_BEGIN
    try:
        if hash_key(name, &hash, 0) and hash_key(key, &hash, 0):
            return tt_hash_end(hash)
    except Exception:  # whatever a subclass of int or tuple does
        pass
    return 0


cdef uint64_t checked_channel(object name, object key) except 0:
    """The same of what a program passes.

    Raises:
        TypeError: If the name is not a str, or the key is invalid.
    """
    at = channel_of(name_text(name, "a signal's"), key)
    if not at:
        raise TypeError(f"a key is None, an int, a str, bytes or a tuple of these, not {shown(key)}")
    return at


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
            known = name_id_of(recorder, text)
            if len(recorder.channel_ids) < recorder.core.name_cap:
                recorder.channel_ids[text] = known
        return known
    except Exception:
        return TT_NAMELESS


@cython.no_gc_clear
cdef class Channel:
    """What libraries signal by themselves: many things of one name, distinguished by key.

    Args:
        recorder: Where it is recorded.
        name: What readers call it.
        own: Whether only threads of this process can wait for it.
    """

    cdef readonly Recorder recorder
    cdef readonly str name
    cdef readonly bint own
    cdef uint64_t begun
    cdef uint32_t name_id

    def __cinit__(self, Recorder recorder, str name, *, bint own=False):
        self.recorder, self.name, self.own = recorder, name, own
        self.begun = TT_HASH_BEGIN
        hash_key(name, &self.begun, 0)
        self.name_id = channel_id(recorder, name)

    cdef uint64_t at(self, object key) noexcept:
        cdef uint64_t hash = self.begun
        try:
            return tt_hash_end(hash) if hash_key(key, &hash, 0) else 0
        except Exception:
            return 0

    def wakes(self, key):
        """Wakes what waits for this; not inside a wait that is recorded as a whole, and signals as one."""
        if self.recorder.core.recording and not tt_ignores_waits(self.recorder.core):
            leave_signal(self.recorder, self.at(key), self.own)

    def hash(self, key):
        """Of this name and key, as it is in every process: 64 bits; 0 for an invalid key."""
        return self.at(key)


@cython.no_gc_clear
cdef class Wait:
    """Calls of a library that may block, recorded from outside.

    Args:
        channel: What wakes them.
        name: Of their row.
    """

    cdef readonly Section section
    cdef readonly Channel channel

    def __cinit__(self, Channel channel, str name):
        self.channel = channel
        self.section = channel.recorder.section(name, wait=True)

    def call(self, function, tuple args, key=None, came=None, *, bint raising=False):
        """Calls what may block; an own row inside an open section and on the main thread, unless part of a wait.

        Args:
            function: What blocks.
            args: Its arguments.
            key: Of the channel; None where it is not known; a function where only the result tells.
            came: Called with the result: whether that is what was waited for; by default, whatever it is.
            raising: What was waited for may be an exception: then `came` is called with None.
        """
        cdef tt_section* section = &self.section.core
        cdef tt_wait wait = tt_wait_enter(section, key is not None, NULL, 0)
        cdef uint64_t at = 0
        if not wait.counts:
            return PyObject_Call(function, args, NULL)
        try:
            result = PyObject_Call(function, args, NULL)
            if key is not None and (came is None or came(result)):
                at = self.channel.at(key(result) if callable(key) else key)
        except BaseException:
            self.leave(wait, self.at_of(key, came) if raising else 0)
            raise
        self.leave(wait, at)
        return result

    cdef uint64_t at_of(self, key, came) noexcept:
        """The channel of what came as an exception; 0 where it did not."""
        try:
            return self.channel.at(key) if came(None) else 0
        except Exception:
            return 0

    cdef void leave(self, tt_wait wait, uint64_t at) noexcept:
        cdef tt_channels* channels = NULL
        if at and ready(self.channel.recorder):
            channels = channels_of(self.channel.recorder, self.channel.own)
        tt_wait_leave(&self.section.core, wait, channels, at, self.channel.name_id)


def in_tick(Recorder recorder not None):
    """Whether the running code is in a tick of a loop, and in no section of that tick."""
    return tt_is_in_tick(recorder.core)


def silence():
    """From here on nothing that the calling thread waits for or signals is recorded, but by its own `with` and calls."""
    global tt_silent
    tt_silent = 1
