# Ages: how old what a loop acts on is, from when it was sensed to when its tick has acted.

cdef str AGE = "sensor to action"
cdef double OLDEST_S = 60  # no loop acts on older data: the time stamp is of another clock
cdef double AHEAD_S = 0.001  # two clocks that are kept in step may differ by so much


@cython.no_gc_clear
cdef class Ages:
    """When what the open tick of a loop acts on was sensed: by name, the oldest of each."""

    cdef Section loop
    cdef dict sensed  # name or None -> ns of CLOCK_MONOTONIC
    cdef tt_frame* tick  # of a loop object; with serial 0 the tick is looked for on the thread
    cdef uint64_t serial
    cdef uint32_t generation  # of the recorder's memory that the tick is in

    def __cinit__(self, Section loop):
        self.loop = loop
        self.sensed = {}

    def origin(self, timestamp, name=None):
        """Says when what this tick acts on was sensed. Of several in one tick the oldest counts, by name.

        Args:
            timestamp: In seconds, of `time.monotonic()` or `time.perf_counter()`.
            name: Which sensor it was, where their ages are to have own rows.

        A time that is ahead of the clock, or more than a minute ago, is of another clock: it is not recorded, and
        counted as a loss.
        """
        cdef tt_recorder* core = self.loop.core.recorder
        cdef double at = as_double(timestamp, "timestamp")
        key = None if name is None else name_text(name, "a sensor's")
        if not core.recording:
            return
        cdef double now = monotonic_ns(core) / 1e9
        if not now - OLDEST_S <= at <= now + AHEAD_S:
            (<Recorder>self.loop.recorder)._bad_value()
            return
        # A virtual clock may begin at 0, and a time before that is as good as any.
        cdef int64_t ns = <int64_t>(at * 1e9 + (0.5 if at >= 0 else -0.5))
        before = self.sensed.get(key)
        if before is None or ns < <int64_t>before:
            self.sensed[key] = ns

    def acted(self):
        """Says that the tick has acted by now: ages count up to here, not to the end of its work."""
        if self.sensed:
            self.record()

    cdef object record(self):
        """Records what is pending as of now."""
        cdef Recorder recorder = self.loop.recorder
        if recorder is None:
            self.sensed.clear()
            return
        cdef int64_t now = <int64_t>monotonic_ns(recorder.core), ns
        cdef Section section
        cdef bint found = True
        if self.serial and self.generation != recorder.core.generation:
            self.sensed.clear()  # a forked child has its own memory: the tick that was open is the parent's
            return
        for name, at in self.sensed.items():
            ns = at
            section = recorder._ask(AGE if name is None else f"{AGE}: {name}", TT_NODE_NS, 0)
            age = now - ns if now > ns else 0
            found = tt_record_age(&section.core, age, &self.loop.core, self.tick, self.serial) and found
        if found:
            self.sensed.clear()  # else it was recorded on another thread: the tick's own will book it

    cdef void hold(self, tt_frame* tick, uint64_t serial) noexcept:
        """What is pending at the end of the tick before was not recorded: the tick was not completed."""
        self.tick = tick
        self.serial = serial if tick != NULL else NO_TICK
        self.generation = self.loop.core.recorder.generation
        if self.sensed:
            self.sensed.clear()


cdef uint64_t NO_TICK = <uint64_t>-1  # the serial of no frame


class Tick(int):
    """A tick's number, which also takes when what the tick acts on was sensed.

    Made by loops: each gives its ticks an own class, whose methods are those of its ages.
    """

    __slots__ = ()

    def origin(self, timestamp, name=None):
        """Says when what this tick acts on was sensed: see `Loop.origin`. It counts for the loop's open tick."""

    def acted(self):
        """Says that the tick has acted by now: see `Loop.acted`."""

    def __reduce__(self):
        return int, (int(self),)


@cython.no_gc_clear
cdef class TickKind:
    """The class of a loop's ticks, and the ages that its methods are of. Used again by the section's next loop."""

    cdef Ages ages
    cdef object make

    def __cinit__(self, Section loop):
        self.ages = ages = Ages(loop)
        self.make = type("Tick", (Tick,), {
            "__slots__": (), "__module__": "ticktree", "origin": ages.origin, "acted": ages.acted,
        })


cdef TickKind tick_kind(Section loop):
    """The class for one more loop of this name: two at once have a class each."""
    cdef TickKind kind = loop.tick_kind.pop() if loop.tick_kind else TickKind(loop)
    kind.ages.hold(NULL, 0)
    return kind


@cython.no_gc_clear
cdef class Boundary:
    """What `tick()` gives: takes when what the tick that has begun acts on was sensed, on the calling thread."""

    cdef Section loop

    def __cinit__(self, Section loop):
        self.loop = loop

    def origin(self, timestamp, name=None):
        """Says when what this tick acts on was sensed: see `Loop.origin`."""
        ages_here(self.loop, True).origin(timestamp, name)

    def acted(self):
        """Says that the tick has acted by now: see `Loop.acted`."""
        ages = ages_here(self.loop, False)
        if ages is not None:
            ages.acted()


cdef Ages ages_here(Section loop, bint make):
    """The ages that the calling thread has recorded for the ticks of `tick()`; None where there are none."""
    cdef Recorder recorder = loop.recorder
    cdef dict known = recorder.ages if recorder is not None else {}
    key = loop.name, threading.get_ident()
    ages = known.get(key)
    if ages is None and make:
        ages = known[key] = Ages(loop)
    return ages


cdef object end_ages(Section loop):
    """At a boundary of `tick()`: books the ages of the tick that ends."""
    ages = ages_here(loop, False)
    if ages is not None:
        (<Ages>ages).acted()
        (<Ages>ages).sensed.clear()
