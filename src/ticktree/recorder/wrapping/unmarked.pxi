# Ticks of loops in programs that mark no sections; and the check whether a program marks any.

cdef void notice_hand(Recorder recorder) noexcept:
    """Check whether an instrument or the program uses a new name."""
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
    """Note that the program has sections of its own; instruments' sections do not count."""
    if not recorder.by_hand:
        recorder.by_hand = True
        if recorder.lone:
            tt_unmarked_end(&(<Section>recorder.lone[0]).core)


cpdef bint tick_unmarked(Section section):
    """Mark a tick boundary of a loop that the program does not mark; return whether that was possible.

    It is only if nothing is open but the loop's own tick, and the program has no sections of its own: these stay where
    the program put them.
    """
    cdef Recorder recorder = section.recorder
    if recorder is None or recorder.by_hand:
        tt_unmarked_end(&section.core)
        return False
    if not tt_unmarked_tick(&section.core):
        return False
    if not recorder.lone or recorder.lone[0] is not section:
        recorder.lone = [section]
    return True


cpdef end_unmarked(Section section):
    """End the open tick, if `tick_unmarked` began it."""
    tt_unmarked_end(&section.core)


# More than a vector of envs takes between two steps of one env; an evaluation takes more.
cdef enum:
    MAX_OTHER_STEPS = 100


cdef class UnmarkedLoop:
    """The loop of an env (or another object with steps) on each thread, in programs that mark no sections.

    A tick lasts from the beginning of a step to the beginning of the next. The steps of one env are the thread's ticks:
    the first env that steps while nothing is open. Other envs step within its ticks. When it is closed or freed, or
    when others have taken `MAX_OTHER_STEPS` steps since its last, the next one replaces it: an env that steps for an
    evaluation before the training begins must not have all of the training in one tick.

    Args:
        section: The section of the ticks.
        may_begin: Returns whether this process steps its envs for itself.
    """

    cdef Section section
    cdef object may_begin
    cdef dict envs         # by the id of the thread's state, which no other thread ever has: weak references
    cdef dict other_steps  # by the same: how many steps other envs have taken since

    def __cinit__(self, Section section, may_begin):
        self.section, self.may_begin, self.envs, self.other_steps = section, may_begin, {}, {}

    def begins(self, env):
        """Begin a step of an env: end the open tick, and begin the next."""
        cdef uint64_t thread = PyThreadState_GetID(PyThreadState_Get())
        current = self._current(thread)
        if current is env:
            if self.other_steps:
                self.other_steps.pop(thread, None)
            tick_unmarked(self.section)
            return
        if current is not None:
            self.other_steps[thread] = self.other_steps.get(thread, 0) + 1
            if self.other_steps[thread] <= MAX_OTHER_STEPS:
                return
            end_unmarked(self.section)
            del self.envs[thread]
        if self.may_begin() and tick_unmarked(self.section):
            self.envs[thread] = ref(env, self.forget)
            self.other_steps.pop(thread, None)

    def is_over(self, env):
        """End the open tick: the code that follows is not part of a step."""
        cdef uint64_t thread = PyThreadState_GetID(PyThreadState_Get())
        if self._current(thread) is env:
            del self.envs[thread]
            end_unmarked(self.section)

    cdef _current(self, uint64_t thread):
        reference = self.envs.get(thread)
        return None if reference is None else reference()

    def forget(self, freed):
        """Forget an env that was freed, on any thread."""
        for thread in [thread for thread, reference in self.envs.items() if reference is freed]:
            del self.envs[thread]


def is_inside(Recorder recorder):
    """Return whether anything is open on the calling thread."""
    return bool(tt_is_inside(recorder.core))
