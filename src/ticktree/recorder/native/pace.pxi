# Holding a loop's rate: native/pace.h has the arithmetic, this the sleep.

cdef dict PACES = {False: TT_PACE_NONE, True: TT_PACE_SKIP, "skip": TT_PACE_SKIP, "catch up": TT_PACE_CATCH_UP}


cdef tt_pace checked_pace(object pace, object hz, double rate) except *:
    """The requested pace; a loop that is not paced has the kind TT_PACE_NONE.

    Raises:
        ValueError: If `pace` is unknown, or there is no rate that can be held.
    """
    try:
        kind = PACES[pace]
    except (KeyError, TypeError):
        raise ValueError(f'pace must be False, True, "skip" or "catch up", not {pace!r}') from None
    if kind != TT_PACE_NONE and hz is None:
        raise ValueError(f"loop(pace={pace!r}) needs hz")
    if kind != TT_PACE_NONE and rate > 1e9:
        raise ValueError(f"loop(pace={pace!r}) cannot hold {hz!r} Hz: a period is at least a nanosecond")
    return tt_pace_of(rate if rate else 1.0, kind)


cdef uint64_t monotonic_ns(tt_recorder* core) noexcept:
    return core.virtual_now if core.clock == TT_CLOCK_VIRTUAL else tt_monotonic_ns()


cdef bint sleep_until_due(tt_recorder* core, tt_pace* pace, uint64_t due) except False:
    """Sleeps until then, to the nanosecond on a virtual clock; what signal handlers raise ends it."""
    cdef uint64_t wake = due - pace.early
    if core.clock == TT_CLOCK_VIRTUAL:
        core.virtual_now = due
        return True
    if tt_monotonic_ns() < wake:
        while tt_monotonic_ns() < wake:
            with nogil:
                tt_sleep_until(wake)
            PyErr_CheckSignals()
        tt_pace_learn(pace, <int64_t>(tt_monotonic_ns() - wake))
    # The rest with the GIL held: taking it may last for longer than the rest does.
    tt_spin_until(due)
    return True
