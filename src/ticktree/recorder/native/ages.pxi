# Ages: how old the data is that a loop acts on, from its sensing to the tick's action.

cdef str AGE = "sensor to action"
cdef double OLDEST_S = 60  # no loop acts on older data: the time stamp is from another clock
cdef double AHEAD_S = 0.001  # two synchronized clocks may differ by so much


@cython.no_gc_clear
cdef class Ages:
    """The times at which the data of a loop's open tick was sensed: the oldest per name."""

    cdef Section loop
    cdef dict sensed_ns  # name or None -> ns of CLOCK_MONOTONIC
    cdef tt_frame* tick  # of a loop object; with serial 0 the tick is searched on the thread
    cdef uint64_t serial
    cdef uint32_t generation  # of the recorder's memory that the tick is in

    def __cinit__(self, Section loop):
        self.loop = loop
        self.sensed_ns = {}

    def origin(self, timestamp, name=None):
        """Declares when the data of this tick was sensed. Of several in one tick the oldest per name counts.

        Args:
            timestamp: In seconds, of `time.monotonic()` or `time.perf_counter()`.
            name: The sensor, to give its ages a row of their own.

        A time that is ahead of the clock, or more than a minute ago, is from another clock: it is not recorded, and
        counted as a loss.
        """
        cdef tt_recorder* core = self.loop.core.recorder
        cdef double seconds = as_double(timestamp, "timestamp")
        key = None if name is None else name_text(name, "a sensor's")
        if not core.recording:
            return
        cdef double now = tt_now_ns(core, CLOCK_MONOTONIC) / 1e9
        if not now - OLDEST_S <= seconds <= now + AHEAD_S:
            (<Recorder>self.loop.recorder)._bad_value()
            return
        # A virtual clock may begin at 0, and a time before that is valid.
        cdef int64_t ns = <int64_t>(seconds * 1e9 + (0.5 if seconds >= 0 else -0.5))
        before = self.sensed_ns.get(key)
        if before is None or ns < <int64_t>before:
            self.sensed_ns[key] = ns

    def acted(self):
        """Declares that the tick has acted: ages count until now, not to the end of its work."""
        if self.sensed_ns:
            self.record()

    cdef object record(self):
        """Records what is pending as of now."""
        cdef Recorder recorder = self.loop.recorder
        if recorder is None:
            self.sensed_ns.clear()
            return
        cdef int64_t now = <int64_t>tt_now_ns(recorder.core, CLOCK_MONOTONIC), ns
        cdef Section section
        cdef bint is_recorded = True
        if self.serial and self.generation != recorder.core.generation:
            self.sensed_ns.clear()  # a forked child has its own memory: the tick that was open is the parent's
            return
        for name, sensed_ns in self.sensed_ns.items():
            ns = sensed_ns
            section = recorder._ask(AGE if name is None else f"{AGE}: {name}", TT_NODE_NS, 0)
            age = now - ns if now > ns else 0
            is_recorded = tt_record_age(&section.core, age, &self.loop.core, self.tick, self.serial) and is_recorded
        if is_recorded:
            self.sensed_ns.clear()  # otherwise this is another thread: the tick's own thread will record them

    cdef void set_tick(self, tt_frame* tick, uint64_t serial) noexcept:
        """Begins a tick. Drops the ages still pending: the previous tick was not completed."""
        self.tick = tick
        self.serial = serial if tick != NULL else NO_TICK
        self.generation = self.loop.core.recorder.generation
        if self.sensed_ns:
            self.sensed_ns.clear()


cdef uint64_t NO_TICK = <uint64_t>-1  # the serial of no frame


class Tick(int):
    """A tick's number, which also takes the time at which the tick's data was sensed.

    Loops create them: each loop gives its ticks a class of their own, with the methods of its ages.
    """

    __slots__ = ()

    def origin(self, timestamp, name=None):
        """Declares when the data of this tick was sensed: see `Loop.origin`. It counts for the loop's open tick."""

    def acted(self):
        """Declares that the tick has acted: see `Loop.acted`."""

    def __reduce__(self):
        return int, (int(self),)


@cython.no_gc_clear
cdef class TickKind:
    """The class of a loop's ticks, and the ages behind its methods. The section's next loop reuses it."""

    cdef Ages ages
    cdef object make

    def __cinit__(self, Section loop):
        self.ages = ages = Ages(loop)
        self.make = type("Tick", (Tick,), {
            "__slots__": (), "__module__": "ticktree", "origin": ages.origin, "acted": ages.acted,
        })


cdef TickKind tick_kind(Section loop):
    """The class for a new loop of this name: simultaneous loops have one each."""
    cdef TickKind kind = loop.tick_kind.pop() if loop.tick_kind else TickKind(loop)
    kind.ages.set_tick(NULL, 0)
    return kind


@cython.no_gc_clear
cdef class Boundary:
    """The result of `tick()`: takes the time at which the data of the calling thread's tick was sensed."""

    cdef Section loop

    def __cinit__(self, Section loop):
        self.loop = loop

    def origin(self, timestamp, name=None):
        """Declares when the data of this tick was sensed: see `Loop.origin`."""
        thread_ages(self.loop, True).origin(timestamp, name)

    def acted(self):
        """Declares that the tick has acted: see `Loop.acted`."""
        ages = thread_ages(self.loop, False)
        if ages is not None:
            ages.acted()


cdef Ages thread_ages(Section loop, bint make):
    """The ages that the calling thread has recorded for the ticks of `tick()`, or None."""
    cdef Recorder recorder = loop.recorder
    cdef dict ages_by_loop = recorder.ages if recorder is not None else {}
    key = loop.name, threading.get_ident()
    ages = ages_by_loop.get(key)
    if ages is None and make:
        ages = ages_by_loop[key] = Ages(loop)
    return ages


cdef object end_ages(Section loop):
    """At a boundary of `tick()`: records the ages of the tick that ends."""
    ages = thread_ages(loop, False)
    if ages is not None:
        (<Ages>ages).acted()
        (<Ages>ages).sensed_ns.clear()
