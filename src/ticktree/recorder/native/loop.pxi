# Loop objects, which `ticktree.loop` returns.


@cython.no_gc_clear
cdef class Loop:
    """An iterator whose iterations are ticks. If it ends early, its last tick is incomplete and counted separately."""

    cdef Section section, next_section, sleep_section
    cdef object iterator
    cdef double hz
    cdef tt_pace pace
    cdef uint64_t warmup
    cdef tt_frame* tick
    cdef uint64_t serial
    cdef uint32_t generation
    cdef uint64_t index
    cdef TickKind kind
    cdef Ages ages  # None until first needed

    def __cinit__(self, Recorder recorder, name, iterable, hz, pace, warmup):
        if not isinstance(name, str):  # other libraries' loops take the iterable first
            hint = f': write loop("train", {shorten(name)})' if iterable is None and hasattr(name, "__iter__") else ""
            raise TypeError(f"a loop's name must be a str, not {shorten(name)}{hint}")
        self.hz = checked_hz(hz)
        self.pace = checked_pace(pace, hz, self.hz)
        self.warmup = checked_warmup(warmup)
        section = recorder.section(name)
        if iterable is None:
            self.kind = tick_kind(section)
            self.ages = self.kind.ages
        else:
            self.iterator = iter(iterable)
            # Fetching from these is too short for a row.
            if type(iterable) not in (range, list, tuple):
                self.next_section = recorder.section("next")
        if self.pace.kind != TT_PACE_NONE:
            self.sleep_section = recorder.section("sleep", wait=True)
        self.section = section

    def __iter__(self):
        # The sleep would silently stop every task of the event loop. Only a `for` in the coroutine itself is refused,
        # where `async for` is an easy change. A plain function that a coroutine calls may block, as with time.sleep:
        # that is its author's decision. So may a notebook's cell, which is a plain function's code below the kernel's
        # event loop; a cell that awaits is a coroutine.
        if self.pace.kind != TT_PACE_NONE and sys._getframe().f_code.co_flags & COROUTINES:
            raise RuntimeError(
                f"`for` over loop({shorten(self.section.name)}, pace=...) in a coroutine would block the event loop: "
                f"write `async for tick in loop({shorten(self.section.name)}, ...)`"
            )
        return self

    def __aiter__(self):
        return self

    async def __anext__(self):
        self._record_ages()
        if self.pace.kind != TT_PACE_NONE:
            from ticktree.recorder.pacing import until_due

            try:
                await until_due(self.section.recorder, self.sleep_section, self._end_of_work())
            except BaseException:  # cancelled
                self._end_tick(TT_OPEN)
                raise
        try:
            return self._begin_tick()
        except StopIteration:
            raise StopAsyncIteration from None

    def __next__(self):
        self._record_ages()
        if self.pace.kind != TT_PACE_NONE:
            self._keep_pace()
        return self._begin_tick()

    cdef object _record_ages(self):
        if self.ages is not None and self.ages.sensed_ns:
            self.ages.record()

    cdef object _begin_tick(self):
        self._forget_other_memory()
        self.tick = tt_loop_boundary(&self.section.core, self.tick, &self.serial, self.hz, self.warmup)
        self.generation = self.section.core.recorder.generation
        if self.ages is not None:
            self.ages.set_tick(self.tick, self.serial)
        if self.iterator is not None:
            return self._fetch()
        tt_loop_has_item(&self.section.core, self.tick, self.serial)
        self.index += 1
        return tt_number_make(<PyTypeObject*>self.kind.make, self.index - 1)

    def origin(self, timestamp, name=None):
        """Declares when the data of the open tick was sensed; records its age below the loop.

        The node "sensor to action" holds the time from then to the end of the tick's work, or to `acted`. Of several
        origins in one tick the oldest counts.

        Args:
            timestamp: In seconds, of `time.monotonic()` or `time.perf_counter()`.
            name: The sensor, to give its ages a row of their own: "sensor to action: NAME".

        A time that is ahead of the clock, or more than a minute ago, is from another clock: it is not recorded, and
        counted as a loss.
        """
        self._ages().origin(timestamp, name)

    def acted(self):
        """Declares that the open tick has acted: ages count until now, not to the end of its work."""
        if self.ages is not None:
            self.ages.acted()

    def close(self):
        """Ends the loop now: its open tick is incomplete."""
        self._end_tick(TT_OPEN)

    def __dealloc__(self):
        if self.section is not None:
            self._end_tick(TT_OPEN)
            if self.kind is not None:
                self.section.tick_kind = [self.kind]

    cdef Ages _ages(self):
        if self.ages is None:
            self.ages = self.kind.ages if self.kind is not None else Ages(self.section)
            self.ages.set_tick(self.tick, self.serial)
        return self.ages

    cdef void _end_tick(self, int ending) noexcept:
        self._forget_other_memory()
        tt_loop_end_tick(&self.section.core, self.tick, self.serial, ending)
        self.tick = NULL
        if self.ages is not None:
            self.ages.set_tick(NULL, 0)

    cdef void _forget_other_memory(self) noexcept:
        # A forked child has its own memory: the tick that was open is the parent's.
        if self.tick != NULL and self.generation != self.section.core.recorder.generation:
            self.tick = NULL

    cdef object _fetch(self):
        """Returns the next item; if there is none, drops the tick that was begun for it."""
        if self.next_section is not None:
            tt_enter(&self.next_section.core)
        try:
            item = next(self.iterator)
        except StopIteration:
            self._end_tick(TT_VOID)
            raise
        except BaseException:
            if self.next_section is not None:
                tt_leave(&self.next_section.core)
            self._end_tick(TT_OPEN)
            raise
        self._forget_other_memory()
        tt_loop_has_item(&self.section.core, self.tick, self.serial)
        if self.next_section is not None:
            tt_leave(&self.next_section.core)
        return item

    cdef uint64_t _end_of_work(self) noexcept:
        """Ends the stages of the open tick; returns when the next tick is due, in ns, or 0 if that is now or past."""
        cdef uint64_t due = tt_pace_claim(&self.pace, tt_now_ns(self.section.core.recorder, CLOCK_MONOTONIC))
        if due:
            self._forget_other_memory()
            tt_loop_end_stages(&self.section.core, self.tick, self.serial)
        return due

    cdef _keep_pace(self):
        """Sleeps at the end of the open tick until the next one is due."""
        cdef uint64_t due = self._end_of_work()
        if not due:
            return
        tt_enter(&self.sleep_section.core)
        try:
            sleep_until_due(self.section.core.recorder, &self.pace, due)
        except BaseException:  # a signal's: KeyboardInterrupt
            tt_leave(&self.sleep_section.core)
            self._end_tick(TT_OPEN)
            raise
        tt_leave(&self.sleep_section.core)


# Flags of a function's code, as `inspect` names them: CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR.
cdef enum: COROUTINES = 0x80 | 0x100 | 0x200

# Holding a loop's rate: native/pace.h has the arithmetic; here is the sleep.

cdef dict PACES = {False: TT_PACE_NONE, True: TT_PACE_SKIP, "skip": TT_PACE_SKIP, "catch up": TT_PACE_CATCH_UP}


cdef tt_pace checked_pace(object pace, object hz, double rate) except *:
    """The requested pace; TT_PACE_NONE for a loop without one.

    Raises:
        ValueError: If `pace` is unknown, or there is no rate that a loop can hold.
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


cdef bint sleep_until_due(tt_recorder* core, tt_pace* pace, uint64_t due) except False:
    """Sleeps until the due time, to the nanosecond on a virtual clock; an exception of a signal handler ends it."""
    cdef uint64_t wake = due - pace.early_ns
    if core.clock == TT_CLOCK_VIRTUAL:
        core.virtual_now = due
        return True
    if tt_monotonic_ns() < wake:
        while tt_monotonic_ns() < wake:
            with nogil:
                tt_sleep_until(wake)
            PyErr_CheckSignals()
        tt_pace_learn(pace, <int64_t>(tt_monotonic_ns() - wake))
    # The rest with the GIL held: acquiring it may take longer than the rest.
    tt_spin_until(due)
    return True
