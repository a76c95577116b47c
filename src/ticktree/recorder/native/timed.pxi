# Plain functions under @timed; coroutines and generators are wrapped in Python (recorder/timed.py).


@cython.no_gc_clear
cdef class WrappedFunction:
    """What stands for a function. Binds as a method, keeps name, signature and docstring."""

    cdef tt_timed core  # first: what a call needs is in one cache line
    cdef readonly object _function  # what is called: `functools.wraps` around this sets `__wrapped__` to another
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
        return getattr(self._function, name)  # `__code__`, `__defaults__` and all else that a function has

    def __reduce__(self):
        return self.__qualname__

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


@cython.no_gc_clear
cdef class TimedFunction(WrappedFunction):
    """A function that is a section whenever it is called."""

    cdef readonly Section section

    def __cinit__(self, function, Section section, *_of_subclasses, **_named_of_subclasses):
        self.section = section
        self.core.vectorcall = <void*>tt_timed_call
        self.core.call = PyVectorcall_Function(<PyObject*>function)
        self.core.section = &section.core

    def __repr__(self):
        return f"<ticktree timed {self.__wrapped__!r}>"


def _prepare_timed():
    cdef TimedFunction one = TimedFunction.__new__(TimedFunction, len, new_section(Recorder(virtual_clock=True), "", TT_NAMELESS, 0, 0))
    tt_timed_prepare(<PyTypeObject*>TimedFunction, <char*>&one.core - <char*><PyObject*>one)



