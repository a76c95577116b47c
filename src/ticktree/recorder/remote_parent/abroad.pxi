# Work for sections of other processes: the names that lead to what is open here, and hanging under such names.


def names_of(Place place):
    """The names from the root to a place: what says in another process where work for it hangs.

    Sections of the host's clock, as far as they go; None where nothing was being recorded.
    """
    cdef tt_recorder* core = place.recorder.core
    cdef tt_ref at = place.core.node
    cdef list names = []
    if core.header == NULL or not at or place.core.generation != core.generation:
        return None
    while at:
        name = name_of_node(core, at)
        if name is not None:
            if tt_node_at(core, at).flags & (TT_NODE_ON_DEVICE | TT_NODE_REMOTE):
                names.clear()
            else:
                names.append(name)
        at = tt_parent_of(core, at)
    names.reverse()
    return tuple(names[:MOST_NAMES])


cdef class _Way:
    """Names as sections."""

    cdef tt_section* steps[MOST_NAMES]
    cdef size_t count
    cdef list held

    def __cinit__(self, Recorder recorder, tuple names):
        cdef Section section
        self.count, self.held = 0, [far_section(recorder, name, 0) for name in names[:MOST_NAMES]]
        for section in self.held:
            self.steps[self.count] = &section.core
            self.count += 1


def call_under(Recorder recorder not None, tuple names not None, function, tuple args not None, dict kwargs not None):
    """Calls a function whose sections are, on this thread, under names from another process: those of `names_of`."""
    cdef tt_reparented before
    cdef _Way way
    if not ready(recorder):
        return function(*args, **kwargs)
    way = _Way(recorder, names)
    before = tt_abroad_begin(recorder.core, way.steps, way.count)
    try:
        return function(*args, **kwargs)
    finally:
        tt_abroad_end(recorder.core, &before)


def origin_under(Recorder recorder not None, tuple names not None):
    """The same for a task of this thread: an `Origin` to be set in its `origin_var` before its first section."""
    cdef Origin origin = Origin(recorder)
    cdef _Way way
    if ready(recorder):
        way = _Way(recorder, names)
        tt_abroad_origin(recorder.core, way.steps, way.count, &origin.core)
    return origin


def follow(Channel channel not None, key):
    """What this thread does next was called by the last signaller of this: its critical path continues from there."""
    cdef uint64_t at = channel.at(key)
    if at and ready(channel.recorder):
        tt_abroad_follow(channel.recorder.core, channels_of(channel.recorder, channel.own), at)


def latest_of(Channel channel not None, keys):
    """Of some keys the one that was signalled last; None where none was, as far as is still known here."""
    cdef tt_recorder* core = channel.recorder.core
    cdef tt_channels* channels = channels_of(channel.recorder, channel.own) if ready(channel.recorder) else NULL
    cdef tt_place* place
    cdef uint64_t newest = 0
    latest = None
    for key in keys if channels != NULL else ():
        place = tt_place_find(channels, channel.at(key))
        if place != NULL and place.at_ns >= newest:
            newest, latest = place.at_ns, key
    return latest
