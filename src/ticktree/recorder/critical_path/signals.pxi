# Signals and waits: names and keys as 64-bit channels, the same in every process.

CHANNELS_NAME = "channels.ttc"  # run/memory.py removes it with the memory files
cdef enum: KEY_DEPTH = 16

cdef uint64_t hash_tagged(uint64_t hash, char tag, const void* data, uint64_t length) noexcept:
    hash = tt_hash(hash, &tag, 1)
    hash = tt_hash(hash, &length, sizeof(length))
    return tt_hash(hash, data, length)


cdef bint hash_key(object key, uint64_t* hash, int depth) except -1:
    """Adds a key to a hash; False for an invalid key. Never Python's own hash(), which differs between processes."""
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
    """The same for a program's arguments.

    Raises:
        TypeError: If the name is not a str, or the key is invalid.
    """
    channel = channel_of(name_text(name, "a signal's"), key)
    if not channel:
        raise TypeError(f"a key is None, an int, a str, bytes or a tuple of these, not {shorten(key)}")
    return channel


cdef tt_channels* channels_of(Recorder recorder, bint own) noexcept:
    """The table of signals: the run's, or the process's own. Opened when first needed; NULL without memory."""
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


cdef bint owns_memory(Recorder recorder) noexcept:
    """Whether there is memory, and it is not the parent's, as in a forked child."""
    return recorder.core.header != NULL and not recorder.core.forked


cdef bint ready(Recorder recorder) noexcept:
    """Whether the memory may be written; a forked child first gets its own."""
    if recorder.core.forked and not rearm(recorder.core):
        return False
    return recorder.core.recording


cdef void leave_signal(Recorder recorder, uint64_t channel_key, bint own) noexcept:
    if not ready(recorder):
        return
    if channel_key:
        tt_signal(recorder.core, channels_of(recorder, own), channel_key)
    else:
        tt_lose(recorder.core, TT_LOSS_BAD_VALUES)


cdef uint32_t channel_id(Recorder recorder, object name) noexcept:
    """The name_id of a channel, like a section's."""
    try:
        name_id = recorder.channel_ids.get(name) if type(name) is str else None
        if name_id is None:
            text = name_text(name)
            name_id = name_id_of(recorder, text)
            if len(recorder.channel_ids) < recorder.core.name_cap:
                recorder.channel_ids[text] = name_id
        return name_id
    except Exception:
        return TT_NAMELESS


@cython.no_gc_clear
cdef class Channel:
    """Signals of a library: many events of one name, distinguished by key.

    Args:
        recorder: The recorder.
        name: Its name for readers.
        own: Whether only threads of this process can wait for it.
    """

    cdef readonly Recorder recorder
    cdef readonly str name
    cdef readonly bint own
    cdef uint64_t name_hash
    cdef uint32_t name_id

    def __cinit__(self, Recorder recorder, str name, *, bint own=False):
        self.recorder, self.name, self.own = recorder, name, own
        self.name_hash = TT_HASH_BEGIN
        hash_key(name, &self.name_hash, 0)
        self.name_id = channel_id(recorder, name)

    cdef uint64_t key_hash(self, object key) noexcept:
        cdef uint64_t hash = self.name_hash
        try:
            return tt_hash_end(hash) if hash_key(key, &hash, 0) else 0
        except Exception:
            return 0

    def wakes(self, key):
        """Signals what waits for this, except inside a recorded wait, which signals by itself."""
        if self.recorder.core.recording and not tt_ignores_waits(self.recorder.core):
            leave_signal(self.recorder, self.key_hash(key), self.own)

    def hash(self, key):
        """The hash of this name and key, the same in every process: 64 bits; 0 for an invalid key."""
        return self.key_hash(key)


@cython.no_gc_clear
cdef class Wait:
    """Calls of a library that may block.

    Args:
        channel: Wakes them.
        name: Of their row.
    """

    cdef readonly Section section
    cdef readonly Channel channel

    def __cinit__(self, Channel channel, str name):
        self.channel = channel
        self.section = channel.recorder.section(name, wait=True)

    def call(self, function, tuple args, key=None, came=None, *, bint raising=False):
        """Calls a function that may block; it has a row inside an open section and on the main thread, unless in a wait.

        Args:
            function: May block.
            args: Its arguments.
            key: Of the channel; None if unknown; a function that computes it from the result.
            came: Called with the result: whether the awaited event came; by default, any result counts.
            raising: Whether the event may be an exception: then `came` is called with None.
        """
        cdef tt_section* section = &self.section.core
        cdef tt_wait wait = tt_wait_enter(section, key is not None, NULL, 0)
        cdef uint64_t channel_key = 0
        if not wait.counts:
            return PyObject_Call(function, args, NULL)
        try:
            result = PyObject_Call(function, args, NULL)
            if key is not None and (came is None or came(result)):
                channel_key = self.channel.key_hash(key(result) if callable(key) else key)
        except BaseException:
            self.leave(wait, self.key_of_exception(key, came) if raising else 0)
            raise
        self.leave(wait, channel_key)
        return result

    cdef uint64_t key_of_exception(self, key, came) noexcept:
        """The channel of an event that came as an exception; 0 if it did not come."""
        try:
            return self.channel.key_hash(key) if came(None) else 0
        except Exception:
            return 0

    cdef void leave(self, tt_wait wait, uint64_t channel_key) noexcept:
        cdef tt_channels* channels = NULL
        if channel_key and ready(self.channel.recorder):
            channels = channels_of(self.channel.recorder, self.channel.own)
        tt_wait_leave(&self.section.core, wait, channels, channel_key, self.channel.name_id)


def in_tick(Recorder recorder not None):
    """Returns whether the running code is in a tick of a loop, and in no section of that tick."""
    return tt_is_in_tick(recorder.core)


def silence():
    """Stops recording waits and signals of the calling thread, except those that it records itself."""
    global tt_is_silent
    tt_is_silent = 1
