# A recorder: one memory file, and everything in this process that writes to it.

MOST_EVENTS = TT_EVENTS_MOST  # of a process, in its timeline
cdef uint64_t scale_of_clock = 0  # measured once per process: it takes two milliseconds


@cython.no_gc_clear
cdef class Recorder:
    """Writes one memory file in place; bounded by the number of distinct nodes, not of calls.

    A new one has no memory and records nothing: `open` gives it memory, `enable` starts it.

    Args:
        virtual_clock: Time stands still but for `advance`, one tick a nanosecond; for tests.
        timeline: Of how many completed calls to keep start and end, where `open` does not say.
    """

    cdef tt_recorder* core
    cdef readonly object origin_var
    cdef readonly object watch_var  # of the request that is being served in this context
    cdef dict watched, far  # by node: the node around it, and its name; by name: sections of what other programs say
    cdef uint32_t remote_nodes  # made for what other programs say
    cdef dict by_name, by_ask, name_ids, channel_ids, texts, gauges
    cdef readonly list attended_by  # (name) -> an attendant of each section that is made from then on
    cdef dict ages  # by (loop, thread): of the ticks of `tick`
    cdef object path_of_file
    cdef public object child_file  # () -> (path or None, file_limit, identity), for a process forked from this one
    cdef public object without_room  # (path): called in a forked child for which no such file could be made
    cdef object next_name, next_role, next_parent  # for the next file of this process
    cdef object opening  # of a process that has not recorded anything yet: opens this recorder
    cdef bint by_hand  # whether anything was marked but by an instrument
    cdef list lone  # [the loop whose ticks are ended then]: in a list, as what holds a section that holds us
    cdef object __weakref__

    def __cinit__(self, *, virtual_clock=False, timeline=0):
        global tt_recorders
        self.core = <tt_recorder*>calloc(1, sizeof(tt_recorder))
        if self.core == NULL:
            raise MemoryError
        self.core.users = 1
        self.core.arena.fd = -1
        self.core.name_cap, self.core.frame_cap, self.core.depth_cap = TT_NAME_CAP, TT_FRAME_CAP, TT_DEPTH_CAP
        self.core.event_capacity = min(timeline, TT_EVENTS_MOST)
        self.core.clock = TT_CLOCK_VIRTUAL if virtual_clock else tt_clock_choose()
        self.by_name, self.by_ask, self.name_ids, self.texts, self.gauges = {}, {}, {}, {}, {}
        self.channel_ids = {}
        self.attended_by = []
        self.ages = {}
        self.origin_var = contextvars.ContextVar("ticktree_origin")
        self.watch_var = contextvars.ContextVar("ticktree_watch", default=None)
        self.watched, self.far = {}, {}
        self.core.by_name = <PyObject*>self.by_name
        self.core.origin_var = <PyObject*>self.origin_var
        self.core.owner = <PyObject*>self
        self.core.next = tt_recorders
        tt_recorders = self.core

    def open(self, path=None, *, file_limit=1 << 40, run_began_ns=0, identity=(0, 0, ""), node_cap=4096,
             name_cap=TT_NAME_CAP, frame_cap=TT_FRAME_CAP, depth_cap=TT_DEPTH_CAP, timeline=0):
        """Gives the recorder its memory, once.

        Args:
            path: The file to make, on tmpfs; None for memory of the process's own.
            file_limit: How many bytes of tmpfs the file may claim.
            run_began_ns: CLOCK_MONOTONIC when the run began, in ns; 0 for now.
            identity: The writer: (pid, process start in clock ticks after boot, boot id), and, where the process ran
                another program before, which incarnation this is: 2, 3, ...
            node_cap: Nodes at most; past it time stays in the parent and the loss is counted.
            name_cap: Distinct names at most; calls by others have no node.
            frame_cap: Calls that are open at a time, at most; others are counted and nothing else.
            depth_cap: How deep a node may be; deeper calls have none.
            timeline: Of how many completed calls to keep start and end, the last ones, here and in forked children.

        Raises:
            OSError: If the file cannot be made; the recorder is as it was.
            MemoryError: If no memory could be reserved.
        """
        global scale_of_clock
        self.core.event_capacity = min(timeline, TT_EVENTS_MOST) or self.core.event_capacity
        if self.core.header != NULL:
            if not self.core.forked:
                tt_timeline_begin(self.core)
            if identity[0]:  # it had memory before it had a run: now its owner is known
                self._sign(identity)
            return
        self.core.name_cap, self.core.frame_cap, self.core.depth_cap = name_cap, frame_cap, depth_cap
        if self.core.clock != TT_CLOCK_VIRTUAL and not scale_of_clock:
            scale_of_clock = tt_clock_scale(self.core.clock)
        made = open_arena(self, path, file_limit)
        if made < 0:
            raise OSError(f"cannot make the memory file {path}")
        if made == 0:
            raise MemoryError("no memory for the recorder")
        scale = (1 << 32) if self.core.clock == TT_CLOCK_VIRTUAL else scale_of_clock
        tt_header_write(self.core, scale, run_began_ns, node_cap)
        self._sign(identity)
        introduce(self)

    def __dealloc__(self):
        if self.core == NULL:
            return
        if tt_focus.recorder == self.core:
            focus_end()
        tt_recorder_end(self.core)

    def _sign(self, identity):
        pid, started, boot, *later = identity
        self.core.header.pid = pid
        self.core.header.process_start = started
        self.core.header.incarnation = later[0] if later else 1
        encoded = boot.encode()[:39]
        memset(self.core.header.boot_id, 0, 40)
        memcpy(self.core.header.boot_id, <const char*>encoded, len(encoded))

    # -- what programs call ------------------------------------------------------------------------------------

    def tick(self, name, hz=None, *, warmup=None):
        """A tick boundary of a loop whose `for` is in other code: ends its tick and begins the next.

        Args:
            name: The loop's name.
            hz: The target rate, in ticks per second; gives the loop its budget.
            warmup: As in `loop`.

        Returns:
            What takes `origin(timestamp)` and `acted()` for the tick that begins.
        """
        cdef Section section = self.section(name)
        if self.ages:
            end_ages(section)
        tt_tick(&section.core, checked_hz(hz), checked_warmup(warmup))
        if section.boundary is None:
            section.boundary = [Boundary(section)]
        return section.boundary[0]

    def loop(self, name, iterable=None, hz=None, pace=False, *, warmup=None):
        """Iterates, one tick a trip: `for`, or in a coroutine `async for`, which waits for due times without blocking.

        Args:
            name: The loop's name: its ticks are the calls of the node of this name.
            iterable: What to iterate over; without one the loop is endless and yields 0, 1, 2, ...: each a `Tick`
            hz: The target rate, in ticks per second; gives the loop its budget.
            pace: Sleep at the end of each tick, so that the loop holds `hz`. Ticks are due on a grid from the first on.
                A tick that is late begins at once; True or "skip" then drops the due times that are past, "catch up"
                runs a tick for each of the last second without a sleep.
            warmup: Ticks at the start whose statistics are set aside; None: as many of the first 256 as are unlike the
                rest; 0: none.

        Raises:
            TypeError: If `name` is not a str, or `hz` or `warmup` is not a number.
            ValueError: If `hz` is not positive, `warmup` is below 0, `pace` is none of these, or set without
                `hz`.
            RuntimeError: If a coroutine goes over a loop that holds its rate with a plain `for`.
        """
        return Loop(self, name, iterable, hz, pace, warmup)

    def record_duration(self, name, seconds, *, bytes=0, flops=0, items=0):
        """A duration measured elsewhere, in seconds: a call under the open section, never covering it.

        Args:
            name: Of the node.
            seconds: The duration.
            bytes: moved in that time, in bytes.
            flops: floating-point operations done in it.
            items: samples, frames, tokens: whatever it handled several of.

        A call with a negative or non-finite value is not recorded, and counted as a loss.

        Raises:
            TypeError: If the name is not a str, or a value not a number.
        """
        cdef Section section = self._ask(name_text(name, "a duration's"), TT_NODE_NS, 0)
        cdef double value = as_double(seconds, "seconds")
        cdef tt_amounts amounts
        if not (0 <= value < 9e9) or not take_amounts(bytes, flops, items, &amounts):
            self._bad_value()
            return
        tt_record(&section.core, <uint64_t>(value * 1e9 + 0.5), &amounts)

    def gauge(self, name, value):
        """A value at this moment: its last, least, greatest, count and histogram are kept.

        Values that are not finite are not recorded, and counted as losses.

        Raises:
            TypeError: If the name is not a str, or the value not a number.
        """
        cdef str text = name_text(name, "a gauge's")
        cdef double number = as_double(value, "a gauge's value")
        if not isfinite(number):
            self._bad_value()
            return
        if not ready(self):
            return
        at = gauge_at(self, text)
        if at is not None:
            tt_gauge_set(self.core, <tt_gauge*><size_t>at, number)

    def wakes(self, name, key=None):
        """Declares what wakes the thread that waits for this: call it right before the waking call.

        Args:
            name: What is signalled, e.g. "batch".
            key: Which one of that name: None, an int, a str, bytes, or a tuple of these.

        Raises:
            TypeError: If the name is not a str, or the key none of these.
        """
        leave_signal(self, checked_channel(name, key), False)

    def woken_by(self, name, key=None):
        """Says what ended the wait that is open here: the last `wakes` of this name and key, in any process.

        Call it inside the section with `wait=True`, once the wait is over. It was blocked if the signal came after
        the section was entered; else it is counted as a wait of no time.

        Args:
            name: As it was signalled.
            key: As it was signalled.

        Raises:
            TypeError: If the name is not a str, or the key is not one that `wakes` takes.
        """
        cdef uint64_t at = checked_channel(name, key)
        if not ready(self):
            return
        tt_unblocked(self.core, channels_of(self, False), at, channel_id(self, name))

    def enable(self):
        """Starts or continues recording; the calling thread's sections are the run's own."""
        if self.core.forked:
            rearm(self.core)
        if self.core.header == NULL:
            self.open()
        if not tt_enable(self.core):
            raise MemoryError("no memory for the recorder")

    def begin_later(self, opening):
        """Starts recording, but takes no memory before there is something to record.

        Args:
            opening: Called then; calls `open`.
        """
        if self.core.header == NULL and not self.core.recording:
            self.opening = opening
            self.core.forked = self.core.recording = True  # as a forked child, it gets a file when it needs one

    def disable(self):
        """Stops recording; what is open is left at this moment, without counting as completed."""
        if self.core.header == NULL:
            self.core.recording = False
        elif ready(self):
            tt_disable(self.core)

    def leave(self):
        """Gives its memory back, once recording has ended: what is recorded later goes to another."""
        leave_memory(self)

    def reset(self):
        """Forgets everything recorded so far; what is open starts again now."""
        if self.core.header != NULL and not self.core.forked:
            tt_reset(self.core)

    # -- what ticktree itself calls ----------------------------------------------------------------------------

    @property
    def recording(self):
        """Whether sections are being recorded."""
        return bool(self.core.recording)

    @property
    def path(self):
        """The memory file; None where the memory is the process's own."""
        return self.path_of_file

    @property
    def is_private(self):
        """Whether the memory can be read by this process only."""
        return self.core.arena.fd < 0

    @property
    def clock(self):
        """The clock's kind: "virtual", "tsc", "cntvct" or "monotonic"."""
        return tt_clock_names[self.core.clock].decode()

    def image(self):
        """The memory file as bytes, of this instant: `run.image` reads it. Empty before there is any."""
        if self.core.header == NULL or (self.core.forked and not rearm(self.core)):
            return b""
        tt_threads_reap(self.core)
        tt_anchor_renew(self.core)
        return PyBytes_FromStringAndSize(<char*>self.core.arena.base, <Py_ssize_t>self.core.header.used_bytes)

    def advance(self, ns):
        """Moves a virtual clock on by so many nanoseconds."""
        self.core.virtual_now += ns

    def set_costs(self, inner_ticks, outer_ticks):
        """Notes what a section costs here: what it records of itself, and what it adds unseen to its parent."""
        if self.core.header == NULL or self.core.forked:
            return
        self.core.header.inner_cost = max(0, int(inner_ticks * 256))
        self.core.header.outer_cost = max(0, int(outer_ticks * 256))

    @property
    def ticks(self):
        """The clock, read now."""
        return tt_now(self.core)

    def calls_of(self, Section section):
        """Completed calls of a section where it was entered last, and their ticks."""
        if self.core.header == NULL or not section.core.cached_node:
            return 0, 0
        cdef tt_node* node = tt_node_at(self.core, section.core.cached_node)
        return node.stats.count, node.stats.sum

    def place(self):
        """The innermost open node of the calling thread, to be remembered: a `Place` for `book`."""
        return place_of(self)

    def book(self, Place place not None, tuple names not None, nanoseconds, str clock="host", *, covered=0):
        """Books a call that has ended, of a duration that was measured elsewhere, below a node remembered earlier.

        It is concurrent to everything else: never against the node remembered. It goes to the calling thread's tree:
        where the place is in another thread's, to a child tree there, like those of threads started there.

        Args:
            place: Of this recorder; else a ValueError.
            names: The way down from there, at most 64, nodes of that clock; the last is the one booked.
            nanoseconds: The duration.
            clock: What measured it: "host", "device" or "remote".
            covered: How much of it the node above, booked before, spent in it: taken from what self time that has.

        Returns:
            Whether it was booked: not where nothing is being recorded, or in memory that has been given up since.
        """
        return book_at(self, place, names, nanoseconds, clock, covered)

    def lose(self, what):
        """Counts a call whose device time is not known ("events"), or that was captured into a graph ("graph")."""
        if not self.core.forked:
            tt_lose(self.core, LOSSES_OF_DEVICES[what])

    def address(self):
        """The parent node of a process started here, as text for `child_of`; None where nothing is being recorded."""
        return place_here(self)

    def child_of(self, text):
        """Sets the parent node of this process: an `address()` of its parent process.

        Raises:
            ValueError: If it is invalid.
        """
        pid, start, incarnation, node = place_numbers(text)
        if self.core.header == NULL or self.core.forked:
            self.next_parent = text
            return
        self.core.header.parent_pid, self.core.header.parent_start = pid, start
        self.core.header.parent_incarnation, self.core.header.parent_node = incarnation, node

    def name_process(self, name):
        """Sets the name of this process; processes forked from it have the same until they are named."""
        self.next_name = name_text(name)
        if self.core.header != NULL and not self.core.forked:
            self.core.header.process_name = text_in(self, self.next_name)

    def role(self, name):
        """Says what the calling thread does, on the main thread what the process does: "actor", "learner".

        Views group processes and threads by role. By default it is their name without its number.

        Args:
            name: The role. On a thread other than the main one it is for what the thread records from now on.

        Raises:
            TypeError: If it is not a str.
        """
        take_role(self, name_text(name, "a role's"))

    def note_time(self):
        """Reads the clock for the file: this process's last sign of life, for now."""
        if self.core.header != NULL and not self.core.forked:
            tt_anchor_renew(self.core)

    def gc_pause(self, begin):
        """Notes that the garbage collector begins, or has ended; returns nothing."""
        global gc_began
        if self.core.forked or self.core.header == NULL:
            return
        if begin:
            gc_began = tt_now(self.core)
        elif gc_began:
            self.core.header.gc_ticks += tt_now(self.core) - gc_began
            self.core.header.gc_pauses += 1
            gc_began = 0

    def measure_all(self):
        """From now on samples the memory of every section, stage and tick; not of waits, which do no work."""
        cdef tt_section* section = self.core.sections
        self.core.always |= TT_FRAME_MEMORY
        while section != NULL:
            if not section.node_flags & (TT_NODE_WAIT | TT_NODE_NS):
                section.frame_flags |= TT_FRAME_MEMORY
            section = section.next

    def timed_section(self, name, site, *, memory=False, cpu=False, wait=False, device=None):
        """A section for a decorated function, whose call site is its definition."""
        text = name_text(name)
        cdef uint32_t frame_flags = (TT_FRAME_MEMORY if memory else 0) | (TT_FRAME_CPU if cpu else 0)
        cdef uint32_t node_flags = TT_NODE_TIMED | (TT_NODE_WAIT if wait else 0)
        device = device_text(device, &node_flags)
        cdef Section section = made(self, text, name_id_of(self, text), node_flags, frame_flags, device)
        section.site = site
        return section

    @property
    def knows_thread(self):
        """Whether the calling thread has been in a section here: only then is it known what it did."""
        return bool(self.core.recording and not self.core.forked and tt_thread_tells(self.core))

    def start_from(self, Channel channel, key):
        """In a new process: its path continues from its parent's signal."""
        if ready(self):
            tt_start_from(self.core, channels_of(self, False), channel.at(key))

    def alias(self, key, value=None):
        """Notes a number under a key for all processes of the run, or looks one up: 0 where none is known."""
        cdef uint64_t at = channel_of("alias", key)
        if not ready(self) or channels_of(self, False) == NULL:
            return 0
        if value is None:
            return tt_alias_get(self.core.shared, at)
        tt_alias_put(self.core.shared, at, value)
        return value

    # -- sections by name --------------------------------------------------------------------------------------

    def _section(self, name, *, wait=False, cpu=False, memory=False, device=None):
        cdef uint32_t node_flags = TT_NODE_WAIT if wait else 0
        cdef uint32_t frame_flags = (TT_FRAME_CPU if cpu else 0) | (TT_FRAME_MEMORY if memory else 0)
        device = device_text(device, &node_flags)
        if node_flags or frame_flags or device is not None:
            return self._ask(name, node_flags, frame_flags, device)
        return self._make(name)

    def _make(self, name):
        """The section of a name that was not met before."""
        text = name_text(name)
        known = self.by_name.get(text)
        if known is not None:
            return known
        notice_hand(self)
        name_id = name_id_of(self, text) if len(self.by_name) < self.core.name_cap else TT_NAMELESS
        if name_id == TT_NAMELESS:
            return self._nameless()
        return self.by_name.setdefault(text, made(self, text, name_id, 0, 0, None))

    def _ask(self, name, uint32_t node_flags, uint32_t frame_flags, device=None):
        """The section of a name with own flags."""
        text = name_text(name)
        key = (text, node_flags, frame_flags, device)
        section = self.by_ask.get(key)
        if section is not None:
            return section
        notice_hand(self)
        # A recorded duration is in nanoseconds, a section in ticks: the same name is two nodes, which readers add.
        # So are what two clocks measured, which readers keep apart.
        kind = node_flags & (TT_NODE_NS | TT_NODE_ON_DEVICE | TT_NODE_REMOTE)
        name_id = name_id_of(self, text, kind) if len(self.by_ask) < self.core.name_cap else TT_NAMELESS
        if name_id == TT_NAMELESS:
            return self._nameless()
        return self.by_ask.setdefault(key, made(self, text, name_id, node_flags, frame_flags, device))

    def _nameless(self):
        if None not in self.by_ask:
            self.by_ask[None] = new_section(self, "", TT_NAMELESS, 0, 0)
        return self.by_ask[None]

    def _bad_value(self):
        if ready(self):
            tt_lose(self.core, TT_LOSS_BAD_VALUES)


cdef uint64_t gc_began = 0


cdef object gauge_at(Recorder recorder, str text):
    """Where a gauge's record is, made at need; None where there is no room."""
    cdef tt_gauge* record = NULL
    made = recorder.gauges.get(text)
    if made is not None:
        return made
    if len(recorder.gauges) < recorder.core.name_cap:
        record = tt_gauge_make(recorder.core, name_id_of(recorder, text))
    if record == NULL:
        tt_lose(recorder.core, TT_LOSS_MEMORY)
        return None
    recorder.gauges[text] = <size_t>record
    return recorder.gauges[text]
