# What instruments wrap other people's functions with: only the outermost of calls that wrap each other is recorded.

cdef uint64_t layers = 0  # the bits that are taken


@cython.no_gc_clear
cdef class Layer:
    """A kind of call of which, on each thread, only the outermost is recorded: `env.step` of an env in its wrappers."""

    cdef uint64_t bit

    def __cinit__(self):
        global layers
        self.bit = ~layers & (layers + 1)  # the lowest that is free; 0 after the last: recorded at every layer
        layers |= self.bit

    def __dealloc__(self):
        global layers
        layers &= ~self.bit


@cython.no_gc_clear
cdef class OutermostFunction(TimedFunction):
    """A function that is a section where it is called from outside the calls of its layer.

    Args:
        function: What is called.
        section: It is in it.
        layer: Which calls wrap each other.
        before: Called with the first argument, right before an outermost call.
    """

    cdef tt_outermost outermost
    cdef object layer, before

    def __cinit__(self, function, Section section, Layer layer, before=None):
        self.core.vectorcall = <void*>tt_outermost_call
        self.layer, self.before = layer, before
        self.outermost.layer = layer.bit
        self.outermost.before = <PyObject*>before if before is not None else NULL

    def __reduce__(self):
        # A class that is sent to another process by its value (cloudpickle) takes its own function with it, which
        # copy.copy gives as it is; that process wraps what it wants itself.
        if self.__module__ == "__main__" or "<locals>" in self.__qualname__:
            return copy.copy, (self.__wrapped__,)
        return self.__qualname__


cdef void set_outermost_offset(Py_ssize_t offset):
    global tt_outermost_offset
    tt_outermost_offset = offset


def _prepare_outermost():
    cdef OutermostFunction one
    section = new_section(Recorder(virtual_clock=True), "", TT_NAMELESS, 0, 0)
    one = OutermostFunction.__new__(OutermostFunction, len, section, Layer())
    tt_timed_prepare(<PyTypeObject*>OutermostFunction, <char*>&one.core - <char*><PyObject*>one)
    set_outermost_offset(<char*>&one.outermost - <char*><PyObject*>one)
    pthread_atfork(NULL, NULL, tt_outside)


cdef void notice_hand(Recorder recorder) noexcept:
    """A name that was not met before: whether an instrument says it, or the program."""
    cdef PyObject* frame
    if recorder.by_hand:
        return
    try:
        frame = tt_calling_frame()
        module = str((<object>frame).f_globals.get("__name__")) if frame != NULL else ""
        if not module.startswith("ticktree.instrument"):
            recorder.marked_by_hand()
    except Exception:
        pass
