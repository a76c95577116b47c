# Which section a call is in, where that is not always the function's own.


@cython.no_gc_clear
cdef class SectionChoice:
    """What an `OutermostFunction` asks for the section of a call: `SectionsByObject`, `CallSites` or `IdleCalls`."""

    cdef tt_choice* choice


@cython.no_gc_clear
cdef class SectionsByObject(SectionChoice):
    """A section for each object that a method is called on.

    Args:
        sections: Called with the object; returns its section, or None: its calls are not recorded. Called once for
            each, as long as there are not very many. Where it fails, the calls are in the function's own section.
    """

    cdef tt_section_cache core
    cdef object sections

    def __cinit__(self, sections):
        self.sections = sections
        self.core.sections = <PyObject*>sections
        self.core.choice.choose = tt_section_of
        self.choice = &self.core.choice

    def __dealloc__(self):
        tt_section_cache_clear(&self.core)


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


MOST_IDLE = 256  # of one method: programs make few such calls, and each very often


@cython.no_gc_clear
cdef class IdleCalls(SectionChoice):
    """Calls of a method that are known to do nothing: they are not recorded.

    Args:
        kinds: Classes of the first argument; of subclasses' instances nothing is known.
        facts: Names of its attributes that decide, in addition to the other arguments. They are hashable.
        values: Classes of other arguments of which equal ones request the same.
        unless: Says whether these attributes may not be read now.
    """

    cdef tt_idle core
    cdef tuple kinds, facts
    cdef frozenset values
    cdef object unless
    cdef set known

    def __cinit__(self, tuple kinds, tuple facts, values, unless=None):
        self.core.choice.choose = tt_idle_section
        self.choice = &self.core.choice
        self.kinds, self.facts, self.values = kinds, facts, frozenset(values)
        self.unless, self.known = unless, set()
        self.core.kinds, self.core.facts = <PyObject*>self.kinds, <PyObject*>self.facts
        self.core.unless, self.core.known = or_null(unless), <PyObject*>self.known

    def note(self, tuple args, dict kwargs):
        """Remembers that a call with these did nothing, where that is so of every one like it."""
        if len(self.known) >= MOST_IDLE or type(args[0]) not in self.kinds:
            return
        others = (*args[1:], *kwargs.values())
        if not self.values.issuperset(map(type, others)):
            return
        facts = [getattr(args[0], name) for name in self.facts]
        self.known.add((*facts, *others, *([tuple(kwargs)] if kwargs else [])))
