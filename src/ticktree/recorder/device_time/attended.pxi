# Sections with attendants: clocks of devices, range marks for other profilers.


@cython.no_gc_clear
cdef class AttendedSection(Section):
    """A section with attendants: it calls the `begin` of each before a call, and the `end` of each after it.

    Their time is not the call's self time, but that of the section around. Their exceptions never reach the program,
    except those of signal handlers.
    """

    cdef tuple attendants
    cdef bint waits
    cdef dict marks  # by the serial of the call: [(attendant, the mark that its `begin` returned)]
    cdef Py_ssize_t max_marks

    def __enter__(self):
        cdef tt_node_handle handle
        if not self.core.recorder.recording:
            return self
        answers = self._begin()
        marks = [(attendant, answer) for attendant, answer in zip(self.attendants, answers)
                 if answer is not None and type(answer) is not str]
        tt_enter(&self.core)
        cdef uint64_t serial = tt_find_open_call(&self.core, &handle)
        if self.waits and self.core.recorder.header != NULL and not self.core.recorder.forked:
            self.core.recorder.header.flags |= TT_HEADER_WAITED
        if not serial:
            notify(marks, "forget")
            return self
        for answer in answers:
            if type(answer) is str:
                self._note(answer, &handle)
        if marks:
            self.marks[serial] = marks
            if len(self.marks) > self.max_marks:
                self._forget_ended()
        return self

    def __exit__(self, kind, error, trace):
        cdef tt_node_handle handle
        cdef uint64_t serial = tt_find_open_call(&self.core, &handle) if self.marks else 0
        cdef uint32_t raised = tt_raised(<PyObject*>kind)
        marks = self.marks.pop(serial, None)
        if marks is None:
            tt_leave_by(&self.core, raised)
            return
        try:
            if self.waits:
                notify(marks, "wait")
        finally:
            tt_leave_by(&self.core, raised)
        self._end(marks, &handle)

    def results(self, value):
        """Name the results of the call's work on a device; see `Section.results`."""
        cdef tt_node_handle handle
        cdef uint64_t serial = tt_find_open_call(&self.core, &handle) if self.marks else 0
        for attendant, mark in self.marks.get(serial, ()):
            attendant.results(mark, value)
        return value

    cdef list _begin(self):
        """Return the mark of each attendant; a text is the reason why there is none."""
        answers = []
        for attendant in self.attendants:
            try:
                answer = attendant.begin()
                if type(answer) is str and answer == "events" and len(self.marks) > MANY_MARKS:
                    self._forget_ended()  # they may hold the missing events
                    answer = attendant.begin()
                answers.append(answer)
            except Exception:
                attendant.failed()
                answers.append(None)
        return answers

    cdef _note(self, str reason, tt_node_handle* handle):
        """Note on the node why there is no device time, or that there is."""
        if reason in LOSSES_OF_DEVICES:
            tt_lose(self.core.recorder, LOSSES_OF_DEVICES[reason])
        if reason in DEVICE_TIME_FLAGS:
            tt_note_device_time(self.core.recorder, handle, DEVICE_TIME_FLAGS[reason])

    cdef _end(self, list marks, tt_node_handle* handle):
        cdef Place place = Place.__new__(Place)
        place.recorder, place.core = self.recorder, handle[0]
        for attendant, mark in marks:
            try:
                reason = attendant.end(mark, place)
                if reason is not None:
                    self._note(reason, handle)
            except Exception:
                attendant.failed()

    cdef _forget_ended(self):
        """Forget calls that the section around them has ended: their exits were never called."""
        alive = {tt_serial for tt_serial in self.marks if tt_call_is_open(self.core.recorder, tt_serial)}
        for serial in self.marks.keys() - alive:
            notify(self.marks.pop(serial), "forget")
        self.max_marks = max(64, 2 * len(self.marks))


cdef enum: MANY_MARKS = 16  # of one section; with more, some calls may have ended and hold events that others need

cdef dict LOSSES_OF_DEVICES = {"events": TT_LOSS_DEVICE, "graph": TT_LOSS_CAPTURED}


cdef notify(list marks, str method):
    """Call a method of each attendant with its mark."""
    for attendant, mark in marks:
        try:
            getattr(attendant, method)(mark)
        except Exception:
            attendant.failed()


cdef Section made(Recorder recorder, str name, uint32_t name_id, uint32_t node_flags, uint32_t frame_flags, device):
    """Return a new section, with all attendants of its calls; a section of recorded durations has none.

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
    section.marks, section.max_marks = {}, 64
    return section


cdef object device_text(device, uint32_t* node_flags):
    """Return the device whose time is requested, as text; None for none. "auto" accepts a missing device."""
    if device is None:
        return None
    text = str(device)  # some libraries have objects for devices: torch.device("cuda:1")
    if text != "auto":
        node_flags[0] |= TT_NODE_DEVICE
    return text
