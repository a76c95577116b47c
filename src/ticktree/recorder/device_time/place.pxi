# Places remembered, and durations booked there that others measured: devices, other programs.


@cython.no_gc_clear
cdef class Place:
    """The node that was innermost where it was taken. It stays one when the call that was open there has ended."""

    cdef tt_spot core
    cdef readonly Recorder recorder

    @property
    def node(self):
        """The node's reference; 0 where nothing was being recorded."""
        return self.core.node

    def __eq__(self, other):
        if not isinstance(other, Place):
            return NotImplemented
        cdef Place that = <Place>other
        same = self.core.node == that.core.node and self.core.generation == that.core.generation
        return same and self.recorder is that.recorder

    def __hash__(self):
        return hash((self.core.node, self.core.generation))


cdef enum: MOST_NAMES = 64

cdef dict CLOCK_FLAGS = {"host": 0, "device": TT_NODE_ON_DEVICE, "remote": TT_NODE_REMOTE}

# What a node says of the requested device time.
cdef dict DEVICE_TIME_IS = {
    "measured": TT_NODE_DEVICE_KNOWN,
    "library": TT_NODE_NO_LIBRARY,
    "device": TT_NODE_NO_DEVICE,
    "clock": TT_NODE_NO_DEVICE_CLOCK,
    "host": TT_NODE_ONLY_HOST,
    "graph": TT_NODE_IN_GRAPH,
}


cdef Place place_of(Recorder recorder):
    cdef Place place = Place.__new__(Place)
    place.recorder = recorder
    place.core = tt_spot_now(recorder.core)
    return place


cdef bint book_at(Recorder recorder, Place place, tuple names, object nanoseconds, str clock, object covered) except *:
    cdef tt_section* sections[MOST_NAMES]
    cdef uint64_t ns = 0, inside = 0
    cdef uint32_t flags = TT_NODE_NS | <uint32_t>CLOCK_FLAGS[clock]
    cdef Py_ssize_t count = len(names), at
    if not 0 < count <= MOST_NAMES or place.recorder is not recorder:
        raise ValueError(f"a place of this recorder and 1 to {MOST_NAMES} names, not {names!r}")
    try:
        ns, inside = int(nanoseconds), int(covered)
    except Exception:  # whatever the amount's own conversion raises
        ns = 1 << 63
    if ns >= 1 << 63:
        recorder._bad_value()
        return False
    if not ready(recorder):
        return False
    for at in range(count):
        sections[at] = &(<Section>recorder._ask(names[at], flags, 0)).core
    return tt_book_at(recorder.core, &place.core, sections, <size_t>count, ns, inside)
