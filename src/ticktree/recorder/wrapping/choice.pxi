# Chooses the section of a call of a library's function.


@cython.no_gc_clear
cdef class SectionChoice:
    """Chooses the section of a call of an `OutermostFunction`: `SectionsByObject`, `CallSites` or `IdleCalls`."""

    cdef tt_choice* choice


@cython.no_gc_clear
cdef class SectionsByObject(SectionChoice):
    """A section for each object that a method is called on.

    Args:
        sections: Called with an object; returns its section, or None: its calls are not recorded. Called once per
            object, unless there are very many. If it fails, the calls are in the function's own section.
    """

    cdef tt_section_cache core
    cdef object sections

    def __cinit__(self, sections):
        self.sections = sections
        self.core.sections = <PyObject*>sections
        self.core.choice.choose = tt_choose_by_object
        self.choice = &self.core.choice

    def __dealloc__(self):
        tt_section_cache_clear(&self.core)


@cython.no_gc_clear
cdef class CallSites(SectionChoice):
    """A section per call site: the open section, and some calls around. A number identifies a call site.

    Once the code of those calls is freed, its number may be another call site's: keep the code as long as the number.

    Args:
        recorder: The recorder of the sections.
        calls: How many calls around.
    """

    cdef tt_call_sites core
    cdef Recorder recorder

    def __cinit__(self, Recorder recorder, unsigned calls):
        self.recorder = recorder
        self.core.recorder = recorder.core
        self.core.choice.choose = tt_choose_by_call_site
        self.choice = &self.core.choice
        self.core.calls = calls

    def number(self):
        """Return the number of the caller's call site; 0 if nothing is being recorded."""
        if self.recorder.core.forked or not self.recorder.core.recording:
            return 0
        return tt_call_site_number_of_caller(&self.core)

    def name(self, uint64_t number, Section section):
        """Set the section of an `OutermostFunction` when it is called from there; None: its own."""
        if section is None:
            tt_call_sites_forget(&self.core, number)
        elif tt_call_sites_set(&self.core, number, <PyObject*>section) < 0:
            raise MemoryError

    def __dealloc__(self):
        tt_call_sites_forget_all(&self.core)


MAX_IDLE_CALLS = 256  # per method: programs make few different ones, each very often


@cython.no_gc_clear
cdef class IdleCalls(SectionChoice):
    """Calls of a method that are known to do nothing: they are not recorded.

    Args:
        types: Classes of the first argument; their subclasses do not count.
        attributes: Names of its attributes that decide, in addition to the other arguments. Their values are hashable.
        argument_types: Classes of other arguments whose equal values request the same.
        unless: Returns whether these attributes may not be read now.
    """

    cdef tt_idle core
    cdef tuple types, attributes
    cdef frozenset argument_types
    cdef object unless
    cdef set calls

    def __cinit__(self, tuple types, tuple attributes, argument_types, unless=None):
        self.core.choice.choose = tt_choose_idle
        self.choice = &self.core.choice
        self.types, self.attributes, self.argument_types = types, attributes, frozenset(argument_types)
        self.unless, self.calls = unless, set()
        self.core.types, self.core.attributes = <PyObject*>self.types, <PyObject*>self.attributes
        self.core.unless, self.core.calls = or_null(unless), <PyObject*>self.calls

    def note(self, tuple args, dict kwargs):
        """Note that a call with these arguments did nothing, if that is true of every equal call."""
        if len(self.calls) >= MAX_IDLE_CALLS or type(args[0]) not in self.types:
            return
        arguments = (*args[1:], *kwargs.values())
        if self.argument_types.issuperset(map(type, arguments)):
            values = [getattr(args[0], name) for name in self.attributes]
            self.calls.add((*values, *arguments, *([tuple(kwargs)] if kwargs else [])))
