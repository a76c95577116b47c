# Where calls come from, for instruments that tell the calls of one function apart.


@cython.no_gc_clear
cdef class CallSites(SectionChoice):
    """Where calls come from: the section open there, and some calls around. Distinguished by numbers.

    A number is another place's once the code of those calls is gone: what keeps the number keeps that code.

    Args:
        recorder: Its sections.
        calls: How many calls around.
    """

    cdef tt_call_sites core
    cdef Recorder recorder

    def __cinit__(self, Recorder recorder, unsigned calls):
        self.recorder = recorder
        self.core.recorder = recorder.core
        self.core.choice.choose = tt_call_sites_section
        self.choice = &self.core.choice
        self.core.calls = calls

    def number(self):
        """That of where the calling function was called from; 0 where nothing is being recorded."""
        if self.recorder.core.forked or not self.recorder.core.recording:
            return 0
        return tt_call_sites_of_caller(&self.core)

    def name(self, uint64_t number, Section section):
        """Has an `OutermostFunction` that is called from there be in that section; None: in its own."""
        if section is None:
            tt_call_sites_forget(&self.core, number)
        elif tt_call_sites_name(&self.core, number, <PyObject*>section) < 0:
            raise MemoryError

    def __dealloc__(self):
        tt_call_sites_forget_all(&self.core)
