# Loops that are iterated: the object that `ticktree.loop` returns.


@cython.no_gc_clear
cdef class Loop:
    """An iterator whose trips are ticks. Ended early, its last tick is incomplete: counted apart."""

    cdef Section section, fetching, sleeping
    cdef object iterator
    cdef double hz
    cdef bint pace
    cdef uint64_t warmup
    cdef tt_frame* tick
    cdef uint64_t serial
    cdef uint32_t generation
    cdef uint64_t index
    cdef object due  # ns: when the next tick should begin

    def __cinit__(self, Recorder recorder, Section section, iterable, double hz, bint pace, uint64_t warmup):
        self.section = section
        self.hz = hz
        self.pace = pace
        self.warmup = warmup
        self.tick = NULL
        if iterable is not None:
            self.iterator = iter(iterable)
            # Taking the next item of these is no work worth a row.
            if type(iterable) not in (range, list, tuple):
                self.fetching = recorder.section("next")
        if pace:
            self.sleeping = recorder.section("sleep", wait=True)

    def __iter__(self):
        return self

    def __next__(self):
        if self.pace:
            self._keep_pace()
        self._forget_other_memory()
        self.tick = tt_loop_boundary(&self.section.core, self.tick, self.serial, self.hz, self.warmup)
        self.serial = self.tick.serial if self.tick != NULL else 0
        self.generation = self.section.core.recorder.generation
        if self.iterator is not None:
            return self._fetch()
        self.index += 1
        return self.index - 1

    def close(self):
        """Ends the loop now: its open tick is incomplete."""
        self._end(TT_OPEN)

    def __dealloc__(self):
        if self.section is not None:
            self._end_tick(TT_OPEN)

    cdef void _end_tick(self, int ending) noexcept:
        self._forget_other_memory()
        tt_loop_end_tick(&self.section.core, self.tick, self.serial, ending)
        self.tick = NULL

    def _end(self, ending):
        self._end_tick(ending)

    cdef void _forget_other_memory(self) noexcept:
        # A forked child has a memory of its own: the tick that was open is the parent's.
        if self.tick != NULL and self.generation != self.section.core.recorder.generation:
            self.tick = NULL

    cdef object _fetch(self):
        """The next item; where there is none, the tick that was begun for it never was."""
        if self.fetching is not None:
            tt_enter(&self.fetching.core)
        try:
            item = next(self.iterator)
        except StopIteration:
            self._end_tick(TT_VOID)
            raise
        except BaseException:
            if self.fetching is not None:
                tt_leave(&self.fetching.core)
            self._end_tick(TT_OPEN)
            raise
        if self.fetching is not None:
            tt_leave(&self.fetching.core)
        return item

    cdef object _keep_pace(self):
        """Sleeps until the tick is due. Due times lie on a grid, so that one late tick shifts none after it; ticks
        that were missed altogether are skipped, not caught up in a burst."""
        cdef tt_recorder* core = self.section.core.recorder
        cdef bint virtual = core.clock == TT_CLOCK_VIRTUAL
        now = core.virtual_now if virtual else time.monotonic_ns()
        period = round(1e9 / self.hz)
        if self.due is None:
            self.due = now + period
            return None
        if now < self.due:
            self._forget_other_memory()
            tt_loop_end_stages(&self.section.core, self.tick, self.serial)
            tt_enter(&self.sleeping.core)
            if virtual:
                core.virtual_now = self.due
            else:
                time.sleep((self.due - now) / 1e9)
            tt_leave(&self.sleeping.core)
            self.due += period
        else:
            self.due += period * ((now - self.due) // period + 1)
        return None
