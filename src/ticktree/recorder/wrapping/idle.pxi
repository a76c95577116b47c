# Calls of libraries' methods that are known to do nothing: they are not looked at again.

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
