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
