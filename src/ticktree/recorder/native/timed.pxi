# Plain functions under @timed; recorder/timed.py wraps coroutines and generators.


@cython.no_gc_clear
cdef class WrappedFunction:
    """A wrapper of a function. Binds as a method, keeps name, signature and docstring."""

    cdef tt_timed core  # first: a call reads one cache line
    cdef readonly object _function  # the one to call: `functools.wraps` around this changes `__wrapped__`
    cdef public object __wrapped__
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self, function, *_of_subclasses, **_named_of_subclasses):
        self._function = self.__wrapped__ = function
        self.core.function = <PyObject*>function

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return PyMethod_New(self, instance)

    def __call__(self, *args, **kwargs):  # replaced by the vectorcall protocol; here so that the type is callable
        return PyVectorcall_Call(self, args, kwargs)

    def __getattr__(self, name):
        return getattr(self._function, name)  # `__code__`, `__defaults__` and all other attributes of a function

    def __reduce__(self):
        return self.__qualname__

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


@cython.no_gc_clear
cdef class TimedFunction(WrappedFunction):
    """A function whose calls are a section."""

    cdef readonly Section section

    def __cinit__(self, function, Section section, *_of_subclasses, **_named_of_subclasses):
        self.section = section
        self.core.vectorcall = <void*>tt_timed_call
        self.core.call = PyVectorcall_Function(<PyObject*>function)
        self.core.section = &section.core

    def __repr__(self):
        return f"<ticktree timed {self.__wrapped__!r}>"


def _prepare_timed():
    section = new_section(Recorder(virtual_clock=True), "", TT_NAMELESS, 0, 0)
    cdef TimedFunction sample = TimedFunction.__new__(TimedFunction, len, section)
    tt_timed_prepare(<PyTypeObject*>TimedFunction, <char*>&sample.core - <char*><PyObject*>sample)

