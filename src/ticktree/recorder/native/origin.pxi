# Places in the tree, carried to other tasks and threads.


@cython.no_gc_clear
cdef class Origin:
    """What was open, in one recorder, where a task or a thread was started."""

    cdef tt_origin core
    cdef readonly Recorder recorder

    def __cinit__(self, Recorder recorder):
        self.recorder = recorder
        tt_origin_capture(recorder.core, &self.core)

    @property
    def node(self):
        """The reference of the node that was open, or of its tree's root; 0 where nothing is being recorded."""
        return self.core.node

    @property
    def age_ns(self):
        """How long ago it was captured; None where nothing was being recorded."""
        if not self.core.made:
            return None
        return tt_ticks_to_ns(self.recorder.core, tt_since(self.recorder.core, self.core.made))

    def __dealloc__(self):
        free(self.core.path)


def origins(bint path=False):
    """What is open here in every recorder that is recording: a list, empty where there is none.

    Args:
        path: With the critical path that led here, for what continues from it on another thread.
    """
    cdef Origin origin
    cdef tt_recorder* core = tt_recorders
    found = []
    while core != NULL:
        if core.recording or core.forked:
            found.append(<Recorder>core.owner)
        core = core.next
    given = [Origin(recorder) for recorder in found]
    for origin in given if path else ():
        tt_origin_capture_path(origin.recorder.core, &origin.core)
    return given


@cython.no_gc_clear
cdef class SubmittedCall:
    """A function to be called on another thread: its sections are children of the section that submitted it."""

    cdef readonly object function
    cdef readonly list given

    def __cinit__(self, function, list given):
        self.function = function
        self.given = given

    def __call__(self, *args, **kwargs):
        cdef tt_reparented before[4]
        cdef Origin origin
        cdef Py_ssize_t count = min(4, len(self.given))
        cdef Py_ssize_t at
        for at in range(count):
            origin = <Origin>self.given[at]
            before[at] = tt_submitted_begin(origin.recorder.core, &origin.core)
        try:
            return self.function(*args, **kwargs)
        finally:
            for at in range(count):
                origin = <Origin>self.given[at]
                tt_submitted_end(origin.recorder.core, &before[at])
