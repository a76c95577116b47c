# Ticks of loops that are not marked, in programs that mark nothing; and how it is known that one does.

cdef void notice_hand(Recorder recorder) noexcept:
    """A name that was not met before: whether an instrument says it, or the program."""
    cdef PyObject* frame
    if recorder.by_hand:
        return
    try:
        frame = tt_calling_frame()
        if frame == NULL or not is_instruments(<object>frame):
            mark_by_hand(recorder)
    except Exception:
        pass


def mark_by_hand(Recorder recorder):
    """From now on: the program has own sections. Instruments' sections are none."""
    if not recorder.by_hand:
        recorder.by_hand = True
        if recorder.lone:
            tt_lone_end(&(<Section>recorder.lone[0]).core)


cpdef bint tick_unmarked(Section section):
    """A tick boundary of a loop that is not marked; return whether it was one.

    Only where nothing is open but its own tick, and the program has marked nothing itself: its sections stay where it
    put them.
    """
    cdef Recorder recorder = section.recorder
    if recorder is None or recorder.by_hand:
        tt_lone_end(&section.core)
        return False
    if not tt_lone_tick(&section.core):
        return False
    if not recorder.lone or recorder.lone[0] is not section:
        recorder.lone = [section]
    return True


cpdef end_unmarked(Section section):
    """Ends the tick that is open, if it is one of `tick_unmarked`."""
    tt_lone_end(&section.core)


# More than any vector of envs takes between two steps of one of them; an evaluation takes more.
cdef enum:
    OTHERS_STEPS = 100


cdef class UnmarkedLoop:
    """The loop of what is stepped on each thread, in programs that mark nothing.

    A tick is from the beginning of a step to the beginning of the next. One thing's steps are the thread's ticks: those
    of the first that is stepped where nothing is open. Others step within a tick. When it is over, or forgotten, or when
    others have taken `OTHERS_STEPS` steps since its last, the next one takes its place: an env that is stepped for an
    evaluation before the training begins must not have the whole training in one tick.

    Args:
        section: Of the ticks.
        may_begin: Says whether what is stepped here first is this process's own affair.
    """

    cdef Section section
    cdef object may_begin
    cdef dict stepping  # by the number of the thread's state, which no other thread ever has: what is stepped, weakly
    cdef dict others    # by the same: how many steps others have taken since

    def __cinit__(self, Section section, may_begin):
        self.section, self.may_begin, self.stepping, self.others = section, may_begin, {}, {}

    def begins(self, thing):
        """A step of a thing: ends the tick that is open, and begins the next."""
        cdef uint64_t thread = PyThreadState_GetID(PyThreadState_Get())
        known = self.stepping.get(thread)
        stepping = known() if known is not None else None
        if stepping is thing:
            if self.others:
                self.others.pop(thread, None)
            tick_unmarked(self.section)
            return
        if stepping is not None:
            self.others[thread] = self.others.get(thread, 0) + 1
            if self.others[thread] <= OTHERS_STEPS:
                return
            end_unmarked(self.section)
            del self.stepping[thread]
        if self.may_begin() and tick_unmarked(self.section):
            self.stepping[thread] = ref(thing, self.forget)
            self.others.pop(thread, None)

    def is_over(self, thing):
        """Ends the tick that is open: what follows is no step's."""
        cdef uint64_t thread = PyThreadState_GetID(PyThreadState_Get())
        known = self.stepping.get(thread)
        if known is not None and known() is thing:
            del self.stepping[thread]
            end_unmarked(self.section)

    def forget(self, gone):
        """Forgets a thing that is no more, whichever thread stepped it."""
        for thread in [thread for thread, known in self.stepping.items() if known is gone]:
            del self.stepping[thread]


def is_inside(Recorder recorder):
    """Return whether anything is open on the calling thread."""
    return bool(tt_is_inside(recorder.core))
