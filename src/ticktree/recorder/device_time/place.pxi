# Nodes that are remembered, and durations booked there that devices or other programs measured.


@cython.no_gc_clear
cdef class Place:
    """The innermost open node at some moment. It remains valid after the call that was open there has ended."""

    cdef tt_node_handle core
    cdef readonly Recorder recorder

    @property
    def node(self):
        """The node's reference; 0 if nothing was recorded."""
        return self.core.node

    def __eq__(self, other):
        if not isinstance(other, Place):
            return NotImplemented
        cdef Place place = <Place>other
        is_same = self.core.node == place.core.node and self.core.generation == place.core.generation
        return is_same and self.recorder is place.recorder

    def __hash__(self):
        return hash((self.core.node, self.core.generation))


cdef enum: MOST_NAMES = 64

cdef dict CLOCK_FLAGS = {"host": 0, "device": TT_NODE_ON_DEVICE, "remote": TT_NODE_REMOTE}

# Flags of a node about its requested device time.
cdef dict DEVICE_TIME_FLAGS = {
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
    place.core = tt_node_handle_now(recorder.core)
    return place


cdef bint book_at(Recorder recorder, Place place, tuple names, object nanoseconds, str clock, object covered) except *:
    cdef tt_section* sections[MOST_NAMES]
    cdef uint64_t ns = 0, covered_ns = 0
    cdef uint32_t flags = TT_NODE_NS | <uint32_t>CLOCK_FLAGS[clock]
    cdef Py_ssize_t count = len(names), i
    if not 0 < count <= MOST_NAMES or place.recorder is not recorder:
        raise ValueError(f"a place of this recorder and 1 to {MOST_NAMES} names, not {names!r}")
    try:
        ns, covered_ns = int(nanoseconds), int(covered)
    except Exception:  # whatever the amount's own conversion raises
        ns = 1 << 63
    if ns >= 1 << 63:
        recorder._bad_value()
        return False
    if not ready(recorder):
        return False
    for i in range(count):
        sections[i] = &(<Section>recorder._ask(names[i], flags, 0)).core
    return tt_book_at(recorder.core, &place.core, sections, <size_t>count, ns, covered_ns)
