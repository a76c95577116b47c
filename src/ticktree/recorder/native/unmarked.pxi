# Ticks of loops that nobody marked, in programs that mark nothing; and how it is known that one does.

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
    """From now on: the program has sections of its own. Instruments' sections are none."""
    if not recorder.by_hand:
        recorder.by_hand = True
        if recorder.lone:
            tt_lone_end(&(<Section>recorder.lone[0]).core)


def tick_unmarked(Section section):
    """A tick boundary of a loop that nobody marked; return whether it was one.

    Only where nothing is open but its own tick, and the program has marked nothing itself: its sections stay where it
    put them.
    """
    cdef Recorder recorder = section.recorder
    if recorder.by_hand:
        tt_lone_end(&section.core)
        return False
    if not recorder.lone or recorder.lone[0] is not section:
        recorder.lone = [section]
    return bool(tt_lone_tick(&section.core))


def end_unmarked(Section section):
    """Ends the tick that is open, if it is one of `tick_unmarked`."""
    tt_lone_end(&section.core)


def is_inside(Recorder recorder):
    """Return whether anything is open on the calling thread."""
    return bool(tt_is_inside(recorder.core))
