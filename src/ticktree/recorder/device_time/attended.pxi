# Sections with attendants: clocks of devices, range marks for other profilers.


@cython.no_gc_clear
cdef class AttendedSection(Section):
    """A section with attendants. Each one's `begin` is called before a call, and its `end` after it.

    What they do is not the call's self time: it falls to the section around. What they raise never reaches the program,
    unless it is some signal handler's.
    """

    cdef tuple attendants
    cdef bint waits
    cdef dict marks  # by the serial of the call: [(attendant, what it gave when the call began)]
    cdef Py_ssize_t most

    def __enter__(self):
        cdef tt_spot spot
        if not self.core.recorder.recording:
            return self
        given = self._begin()
        kept = [(attendant, mark) for attendant, mark in zip(self.attendants, given)
                if mark is not None and type(mark) is not str]
        tt_enter(&self.core)
        cdef uint64_t serial = tt_call_open_here(&self.core, &spot)
        if self.waits and self.core.recorder.header != NULL and not self.core.recorder.forked:
            self.core.recorder.header.flags |= TT_HEADER_WAITED
        if not serial:
            forget_all(kept)
            return self
        for mark in given:
            if type(mark) is str:
                self._note(mark, &spot)
        if kept:
            self.marks[serial] = kept
            if len(self.marks) > self.most:
                self._forget_ended()
        return self

    def __exit__(self, kind, error, trace):
        cdef tt_spot spot
        cdef uint64_t serial = tt_call_open_here(&self.core, &spot) if self.marks else 0
        cdef uint32_t raised = tt_raised(<PyObject*>kind)
        kept = self.marks.pop(serial, None)
        if kept is None:
            tt_leave_by(&self.core, raised)
            return
        try:
            if self.waits:
                self._wait(kept)
        finally:
            tt_leave_by(&self.core, raised)
        self._end(kept, &spot)

    def results(self, value):
        """Names what the call's work on a device will give; see `Section.results`."""
        cdef tt_spot spot
        cdef uint64_t serial = tt_call_open_here(&self.core, &spot) if self.marks else 0
        for attendant, mark in self.marks.get(serial, ()):
            attendant.results(mark, value)
        return value

    cdef list _begin(self):
        """What each attendant gives; a text where it says why that is nothing."""
        given = []
        for attendant in self.attendants:
            try:
                mark = attendant.begin()
                if type(mark) is str and mark == "events" and len(self.marks) > FEW_OPEN:
                    self._forget_ended()  # they may hold what is missing
                    mark = attendant.begin()
                given.append(mark)
            except Exception:
                attendant.failed()
                given.append(None)
        return given

    cdef _note(self, str why, tt_spot* spot):
        """The node gets the reason why there is no device time, or that there is."""
        if why in LOSSES_OF_DEVICES:
            tt_lose(self.core.recorder, LOSSES_OF_DEVICES[why])
        if why in DEVICE_TIME_IS:
            tt_spot_says(self.core.recorder, spot, DEVICE_TIME_IS[why])

    cdef _wait(self, list kept):
        for attendant, mark in kept:
            try:
                attendant.wait(mark)
            except Exception:
                attendant.failed()

    cdef _end(self, list kept, tt_spot* spot):
        cdef Place place = Place.__new__(Place)
        place.recorder, place.core = self.recorder, spot[0]
        for attendant, mark in kept:
            try:
                why = attendant.end(mark, place)
                if why is not None:
                    self._note(why, spot)
            except Exception:
                attendant.failed()

    cdef _forget_ended(self):
        """Calls that were ended by the section around them never came to tell."""
        alive = {tt_serial for tt_serial in self.marks if tt_call_is_open(self.core.recorder, tt_serial)}
        for serial in self.marks.keys() - alive:
            forget_all(self.marks.pop(serial))
        self.most = max(64, 2 * len(self.marks))


cdef enum: FEW_OPEN = 16  # calls of one section at once; more may be some that have ended, and hold what others need

cdef dict LOSSES_OF_DEVICES = {"events": TT_LOSS_DEVICE, "graph": TT_LOSS_CAPTURED}


cdef forget_all(list kept):
    for attendant, mark in kept:
        try:
            attendant.forget(mark)
        except Exception:
            attendant.failed()


cdef Section made(Recorder recorder, str name, uint32_t name_id, uint32_t node_flags, uint32_t frame_flags, device):
    """A new section, with all attendants of its calls: those of recorded durations, which are none, have none.

    Raises:
        ValueError: There is no such device.
    """
    cdef AttendedSection section
    attendants = [make(name) for make in recorder.attended_by] if not node_flags & TT_NODE_NS else []
    if device is not None:
        from ticktree.recorder.device_time import clocks_of

        attendants += clocks_of(device)
    if not attendants:
        return new_section(recorder, name, name_id, node_flags, frame_flags, device)
    kind = type("Section", (AttendedSection,), {"__slots__": (), "__module__": "ticktree"})
    section = kind.__new__(kind)
    section_begin(section, recorder, name, name_id, node_flags, frame_flags, device)
    section.attendants = tuple(attendants)
    section.waits = any(attendant.waits for attendant in section.attendants)
    section.marks, section.most = {}, 64
    return section


cdef object device_text(device, uint32_t* node_flags):
    """Which device's time is requested, as text; None for none. "auto" does not complain about a missing device."""
    if device is None:
        return None
    text = str(device)  # libraries have objects for them: torch.device("cuda:1")
    if text != "auto":
        node_flags[0] |= TT_NODE_DEVICE
    return text
