# Origins: the open node, carried to other tasks and threads.


@cython.no_gc_clear
cdef class Origin:
    """The call that was open, in one recorder, when a task or a thread was started."""

    cdef tt_origin core
    cdef readonly Recorder recorder

    def __cinit__(self, Recorder recorder):
        self.recorder = recorder
        tt_origin_capture(recorder.core, &self.core)

    @property
    def node(self):
        """The reference of the node that was open, or of its tree's root; 0 if nothing was being recorded."""
        return self.core.node

    @property
    def age_ns(self):
        """How long ago it was captured; None if nothing was being recorded."""
        if not self.core.captured_at:
            return None
        return tt_ticks_to_ns(self.recorder.core, tt_ticks_since(self.recorder.core, self.core.captured_at))

    def __dealloc__(self):
        free(self.core.path)


def origins(bint path=False):
    """Returns an `Origin` of what is open here for every recorder that is recording.

    Args:
        path: Also capture the critical path that led here, for work that continues it on another thread.
    """
    cdef Origin origin
    cdef tt_recorder* core = tt_recorders
    recorders = []
    while core != NULL:
        if core.recording or core.forked:
            recorders.append(<Recorder>core.owner)
        core = core.next
    captured = [Origin(recorder) for recorder in recorders]
    for origin in captured if path else ():
        tt_origin_capture_path(origin.recorder.core, &origin.core)
    return captured


@cython.no_gc_clear
cdef class SubmittedCall:
    """A function for another thread: its sections are children of the section that submitted it."""

    cdef readonly object function
    cdef readonly list given

    def __cinit__(self, function, list given):
        self.function = function
        self.given = given

    def __call__(self, *args, **kwargs):
        cdef tt_saved_parent before[4]
        cdef Origin origin
        cdef Py_ssize_t count = min(4, len(self.given))
        cdef Py_ssize_t i
        for i in range(count):
            origin = <Origin>self.given[i]
            before[i] = tt_submitted_begin(origin.recorder.core, &origin.core)
        try:
            return self.function(*args, **kwargs)
        finally:
            for i in range(count):
                origin = <Origin>self.given[i]
                tt_thread_restore(origin.recorder.core, &before[i])
