# Work for sections of other processes: the path of what is open here, and work below such a path.


def names_of(Place place):
    """Returns the names from the root to a place, by which another process finds the parent of work for it.

    Only sections of the host's clock; None if nothing was being recorded.
    """
    cdef tt_recorder* core = place.recorder.core
    cdef tt_ref node = place.core.node
    cdef list names = []
    if core.header == NULL or not node or place.core.generation != core.generation:
        return None
    while node:
        name = node_name(core, node)
        if name is not None:
            if tt_node_at(core, node).flags & (TT_NODE_ON_DEVICE | TT_NODE_REMOTE):
                names.clear()
            else:
                names.append(name)
        node = tt_parent_of(core, node)
    names.reverse()
    return tuple(names[:MOST_NAMES])


cdef class _SectionPath:
    """The sections of a path of names."""

    cdef tt_section* sections[MOST_NAMES]
    cdef size_t count
    cdef list objects

    def __cinit__(self, Recorder recorder, tuple names):
        cdef Section section
        self.count, self.objects = 0, [remote_section(recorder, name, 0) for name in names[:MOST_NAMES]]
        for section in self.objects:
            self.sections[self.count] = &section.core
            self.count += 1


def call_under(Recorder recorder not None, tuple names not None, function, tuple args not None, dict kwargs not None):
    """Calls a function whose sections are, on this thread, below a path of another process: that of `names_of`."""
    cdef tt_saved_parent before
    cdef _SectionPath path
    if not ready(recorder):
        return function(*args, **kwargs)
    path = _SectionPath(recorder, names)
    before = tt_remote_work_begin(recorder.core, path.sections, path.count)
    try:
        return function(*args, **kwargs)
    finally:
        tt_remote_work_end(recorder.core, &before)


def origin_under(Recorder recorder not None, tuple names not None):
    """The same for a task of this thread: returns an `Origin` to set in its `origin_var` before its first section."""
    cdef Origin origin = Origin(recorder)
    cdef _SectionPath path
    if ready(recorder):
        path = _SectionPath(recorder, names)
        tt_remote_work_origin(recorder.core, path.sections, path.count, &origin.core)
    return origin


def follow(Channel channel not None, key):
    """Continues this thread's critical path from the last signal of this key: its sender called what the thread does next."""
    cdef uint64_t channel_key = channel.key_hash(key)
    if channel_key and ready(channel.recorder):
        tt_remote_work_follow(channel.recorder.core, channels_of(channel.recorder, channel.own), channel_key)


def latest_of(Channel channel not None, keys):
    """Returns the key that was signalled last; None if none was, as far as is still known here."""
    cdef tt_recorder* core = channel.recorder.core
    cdef tt_channels* channels = channels_of(channel.recorder, channel.own) if ready(channel.recorder) else NULL
    cdef tt_channel_slot* slot
    cdef uint64_t newest = 0
    latest = None
    for key in keys if channels != NULL else ():
        slot = tt_slot_find(channels, channel.key_hash(key))
        if slot != NULL and slot.at_ns >= newest:
            newest, latest = slot.at_ns, key
    return latest
