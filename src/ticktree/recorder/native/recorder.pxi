# A recorder: one memory file, and everything in this process that writes to it.

MOST_EVENTS = TT_EVENTS_MAX  # in the timeline of a process
cdef uint64_t scale_of_clock = 0  # measured once per process: it takes two milliseconds


@cython.no_gc_clear
cdef class Recorder:
    """Writes one memory file in place, whose size depends on the number of distinct nodes, not of calls.

    A new recorder has no memory and records nothing: `open` gives it memory, `enable` starts it.

    Args:
        virtual_clock: Only `advance` moves the time, one tick per nanosecond; for tests.
        timeline: How many completed calls keep start and end, unless `open` sets it.
    """

    cdef tt_recorder* core
    cdef readonly object origin_var
    cdef readonly object watch_var  # of the request that this context serves
    cdef dict node_names  # node -> its parent and its name, for watches
    cdef dict remote_sections  # by name: sections of other programs' reports
    cdef uint32_t remote_nodes  # created for other programs' reports
    cdef dict by_name, sections_by_options, name_ids, channel_ids, texts, gauges
    cdef readonly list attended_by  # (name) -> an attendant, for each section created later
    cdef dict ages  # by (loop, thread): of the ticks of `tick`
    cdef object path_of_file
    cdef public object child_file  # () -> (path or None, file_limit, identity), for a process forked from this one
    cdef public object without_room  # (path): called in a forked child if this file could not be created
    cdef object next_name, next_role, next_parent  # for the next file of this process
    cdef object opening  # opens this recorder, in a process that has not recorded anything yet
    cdef bint by_hand  # whether the program itself marked anything, not an instrument
    cdef list lone  # [the loop whose ticks end then]: in a list, which the garbage collector can clear
    cdef object __weakref__

    def __cinit__(self, *, virtual_clock=False, timeline=0):
        global tt_recorders
        self.core = <tt_recorder*>calloc(1, sizeof(tt_recorder))
        if self.core == NULL:
            raise MemoryError
        self.core.users = 1
        self.core.arena.fd = -1
        self.core.name_cap, self.core.frame_cap, self.core.depth_cap = TT_NAME_CAP, TT_FRAME_CAP, TT_DEPTH_CAP
        self.core.event_capacity = min(timeline, TT_EVENTS_MAX)
        self.core.clock = TT_CLOCK_VIRTUAL if virtual_clock else tt_clock_choose()
        self.by_name, self.sections_by_options, self.name_ids, self.texts, self.gauges = {}, {}, {}, {}, {}
        self.channel_ids = {}
        self.attended_by = []
        self.ages = {}
        self.origin_var = contextvars.ContextVar("ticktree_origin")
        self.watch_var = contextvars.ContextVar("ticktree_watch", default=None)
        self.node_names, self.remote_sections = {}, {}
        self.core.by_name = <PyObject*>self.by_name
        self.core.origin_var = <PyObject*>self.origin_var
        self.core.owner = <PyObject*>self
        self.core.next = tt_recorders
        tt_recorders = self.core

    def open(self, path=None, *, file_limit=1 << 40, run_began_ns=0, identity=(0, 0, ""), node_cap=4096,
             name_cap=TT_NAME_CAP, frame_cap=TT_FRAME_CAP, depth_cap=TT_DEPTH_CAP, timeline=0):
        """Gives the recorder its memory, once.

        Args:
            path: The file to create, on tmpfs; None for private memory.
            file_limit: How many bytes of tmpfs the file may claim.
            run_began_ns: CLOCK_MONOTONIC when the run began, in ns; 0 for now.
            identity: The writer: (pid, process start in clock ticks after boot, boot id), and, if the process ran another
                program before, its incarnation: 2, 3, ...
            node_cap: The maximum number of nodes; past it time stays in the parent and the loss is counted.
            name_cap: The maximum number of distinct names; calls with further names have no node.
            frame_cap: The maximum number of open calls; further calls are only counted.
            depth_cap: The maximum depth of a node; deeper calls have none.
            timeline: How many completed calls keep start and end, the last ones, here and in forked children.

        Raises:
            OSError: If the file cannot be created; the recorder is unchanged.
            MemoryError: If no memory could be reserved.
        """
        global scale_of_clock
        self.core.event_capacity = min(timeline, TT_EVENTS_MAX) or self.core.event_capacity
        if self.core.header != NULL:
            if not self.core.forked:
                tt_timeline_begin(self.core)
            if identity[0]:  # it had memory before it had a run
                self._sign(identity)
            return
        self.core.name_cap, self.core.frame_cap, self.core.depth_cap = name_cap, frame_cap, depth_cap
        if self.core.clock != TT_CLOCK_VIRTUAL and not scale_of_clock:
            scale_of_clock = tt_clock_scale(self.core.clock)
        result = open_arena(self, path, file_limit)
        if result < 0:
            raise OSError(f"cannot make the memory file {path}")
        if result == 0:
            raise MemoryError("no memory for the recorder")
        scale = (1 << 32) if self.core.clock == TT_CLOCK_VIRTUAL else scale_of_clock
        tt_header_write(self.core, scale, run_began_ns, node_cap)
        self._sign(identity)
        write_names(self)

    def __dealloc__(self):
        if self.core == NULL:
            return
        if tt_focus.recorder == self.core:
            focus_end()
        tt_recorder_end(self.core)

    def _sign(self, identity):
        pid, started, boot_id, *incarnation = identity
        self.core.header.pid = pid
        self.core.header.process_start = started
        self.core.header.incarnation = incarnation[0] if incarnation else 1
        encoded = boot_id.encode()[:39]
        memset(self.core.header.boot_id, 0, 40)
        memcpy(self.core.header.boot_id, <const char*>encoded, len(encoded))

    # -- the program's interface -------------------------------------------------------------------------------

    def tick(self, name, hz=None, *, warmup=None):
        """Marks a tick boundary of a loop whose `for` is in other code: ends its tick and begins the next.

        Args:
            name: The loop's name.
            hz: The target rate, in ticks per second; gives the loop its budget.
            warmup: As in `loop`.

        Returns:
            A `Boundary`, with `origin(timestamp)` and `acted()` of the tick that begins.
        """
        cdef Section section = self.section(name)
        if self.ages:
            end_ages(section)
        tt_tick(&section.core, checked_hz(hz), checked_warmup(warmup))
        if section.boundary is None:
            section.boundary = [Boundary(section)]
        return section.boundary[0]

    def loop(self, name, iterable=None, hz=None, pace=False, *, warmup=None):
        """Iterates, one tick per iteration: `for`, or in a coroutine `async for`, which does not block the event loop.

        Args:
            name: The loop's name: its ticks are the calls of the node of this name.
            iterable: What to iterate over; without one the loop is endless and yields 0, 1, 2, ...: each a `Tick`.
            hz: The target rate, in ticks per second; gives the loop its budget.
            pace: Sleep at the end of each tick, so that the loop holds `hz`. Ticks are due on a grid from the first one.
                A late tick begins at once; True or "skip" then drops the due times that have passed, "catch up" runs a
                tick for each due time of the last second without a sleep.
            warmup: Ticks at the start whose statistics are set aside; None: those of the first 256 that differ from the
                rest; 0: none.

        Raises:
            TypeError: If `name` is not a str, or `hz` or `warmup` is not a number.
            ValueError: If `hz` is not positive, `warmup` is below 0, `pace` has another value, or is set without `hz`.
            RuntimeError: If a coroutine iterates over a loop that holds its rate with a plain `for`.
        """
        return Loop(self, name, iterable, hz, pace, warmup)

    def record_duration(self, name, seconds, *, bytes=0, flops=0, items=0):
        """Records a duration measured elsewhere, in seconds: a call below the open section that does not cover it.

        Args:
            name: Of the node.
            seconds: The duration.
            bytes: Bytes moved in that time.
            flops: Floating-point operations done in it.
            items: Samples, frames, tokens or other items handled in it.

        A call with a negative or non-finite value is not recorded, and counted as a loss.

        Raises:
            TypeError: If the name is not a str, or a value not a number.
        """
        cdef Section section = self._ask(name_text(name, "a duration's"), TT_NODE_NS, 0)
        cdef double value = as_double(seconds, "seconds")
        cdef tt_amounts amounts
        if not (0 <= value < 9e9) or not read_amounts(bytes, flops, items, &amounts):
            self._bad_value()
            return
        tt_record(&section.core, <uint64_t>(value * 1e9 + 0.5), &amounts)

    def gauge(self, name, value):
        """Records a value at this moment: keeps the last, the minimum, the maximum, the count and a histogram.

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
        address = gauge_address(self, text)
        if address is not None:
            tt_gauge_set(self.core, <tt_gauge*><size_t>address, number)

    def wakes(self, name, key=None):
        """Declares that the next call wakes the thread that waits for this: call it right before that call.

        Args:
            name: The event that is signalled, e.g. "batch".
            key: Distinguishes events of that name: None, an int, a str, bytes, or a tuple of these.

        Raises:
            TypeError: If the name is not a str, or the key is of another type.
        """
        leave_signal(self, checked_channel(name, key), False)

    def woken_by(self, name, key=None):
        """Declares that the last `wakes` of this name and key, in any process, ended the wait that is open here.

        Call it inside the section with `wait=True`, once the wait is over. The thread was blocked if the signal came after
        the section was entered; otherwise the wait counts with no time.

        Args:
            name: The name of the signal.
            key: The key of the signal.

        Raises:
            TypeError: If the name is not a str, or the key is not one that `wakes` takes.
        """
        cdef uint64_t channel_key = checked_channel(name, key)
        if not ready(self):
            return
        tt_unblocked(self.core, channels_of(self, False), channel_key, channel_id(self, name))

    def enable(self):
        """Starts or continues recording; the calling thread's sections are children of the run's root."""
        if self.core.forked:
            rearm(self.core)
        if self.core.header == NULL:
            self.open()
        if not tt_enable(self.core):
            raise MemoryError("no memory for the recorder")

    def begin_later(self, opening):
        """Starts recording, but allocates no memory before there is something to record.

        Args:
            opening: Called then; it calls `open`.
        """
        if self.core.header == NULL and not self.core.recording:
            self.opening = opening
            self.core.forked = self.core.recording = True  # like a forked child, it gets a file when it needs one

    def disable(self):
        """Stops recording; open sections end at this moment, without counting as completed."""
        if self.core.header == NULL:
            self.core.recording = False
        elif ready(self):
            tt_disable(self.core)

    def leave(self):
        """Releases its memory, once recording has ended: later records go to a new one."""
        leave_memory(self)

    def reset(self):
        """Discards everything recorded so far; what is open starts again now."""
        if owns_memory(self):
            tt_reset(self.core)

    # -- ticktree's own interface ------------------------------------------------------------------------------

    @property
    def recording(self):
        """Whether sections are being recorded."""
        return bool(self.core.recording)

    @property
    def path(self):
        """The memory file; None for private memory."""
        return self.path_of_file

    @property
    def is_private(self):
        """Whether only this process can read the memory."""
        return self.core.arena.fd < 0

    @property
    def clock(self):
        """The clock's kind: "virtual", "tsc", "cntvct" or "monotonic"."""
        return tt_clock_names[self.core.clock].decode()

    def image(self):
        """Returns the memory file as bytes, at this moment, for `run.image`. Empty before there is memory."""
        if self.core.header == NULL or (self.core.forked and not rearm(self.core)):
            return b""
        tt_threads_reap(self.core)
        tt_anchor_renew(self.core)
        return PyBytes_FromStringAndSize(<char*>self.core.arena.base, <Py_ssize_t>self.core.header.used_bytes)

    def advance(self, ns):
        """Advances a virtual clock by so many nanoseconds."""
        self.core.virtual_now += ns

    def set_costs(self, inner_ticks, outer_ticks):
        """Stores the cost of a section here: the part that it records itself, and the part that lands in its parent."""
        if owns_memory(self):
            self.core.header.inner_cost = max(0, int(inner_ticks * 256))
            self.core.header.outer_cost = max(0, int(outer_ticks * 256))

    @property
    def ticks(self):
        """The current time of the clock."""
        return tt_now(self.core)

    def calls_of(self, Section section):
        """Returns the number of completed calls of a section, at its last node, and their ticks."""
        if self.core.header == NULL or not section.core.cached_node:
            return 0, 0
        cdef tt_node* node = tt_node_at(self.core, section.core.cached_node)
        return node.stats.count, node.stats.sum

    def place(self):
        """Returns the innermost open node of the calling thread, as a `Place` for `book`."""
        return place_of(self)

    def book(self, Place place not None, tuple names not None, nanoseconds, str clock="host", *, covered=0):
        """Books a call that has ended, with a duration measured elsewhere, below a place.

        It is concurrent to everything else and never reduces the place's self time. It goes to the calling thread's tree;
        if the place is in another thread's tree, it goes to a child tree there, like those of threads started there.

        Args:
            place: Of this recorder; else a ValueError.
            names: The path from there, at most 64 nodes of that clock; the last one is booked.
            nanoseconds: The duration.
            clock: The clock that measured it: "host", "device" or "remote".
            covered: The part that the parent node, booked before, spent in it: subtracted from that node's self time.

        Returns:
            Whether it was booked: False if nothing is being recorded, or the place's memory has been released.
        """
        return book_at(self, place, names, nanoseconds, clock, covered)

    def lose(self, what):
        """Counts a call whose device time is unknown ("events"), or that was captured into a graph ("graph")."""
        if not self.core.forked:
            tt_lose(self.core, LOSSES_OF_DEVICES[what])

    def address(self):
        """Returns the parent node of a process started here, as text for `child_of`; None if nothing is being recorded."""
        return open_node_address(self)

    def child_of(self, text):
        """Sets the parent node of this process: an `address()` of its parent process.

        Raises:
            ValueError: If it is invalid.
        """
        pid, start, incarnation, node = place_numbers(text)
        if not owns_memory(self):
            self.next_parent = text
            return
        self.core.header.parent_pid, self.core.header.parent_start = pid, start
        self.core.header.parent_incarnation, self.core.header.parent_node = incarnation, node

    def name_process(self, name):
        """Sets the name of this process; processes forked from it have the same name until they set their own."""
        self.next_name = name_text(name)
        if owns_memory(self):
            self.core.header.process_name = text_ref(self, self.next_name)

    def role(self, name):
        """Declares what the calling thread does, or on the main thread what the process does: "actor", "learner".

        Views group processes and threads by role. By default it is their name without its number.

        Args:
            name: The role. On a thread other than the main one it applies to what the thread records later.

        Raises:
            TypeError: If it is not a str.
        """
        set_role(self, name_text(name, "a role's"))

    def note_time(self):
        """Stores the time in the file, as this process's last sign of life so far."""
        if owns_memory(self):
            tt_anchor_renew(self.core)

    def gc_pause(self, begin):
        """Records that the garbage collector begins, or has ended."""
        global gc_began
        if not owns_memory(self):
            return
        if begin:
            gc_began = tt_now(self.core)
        elif gc_began:
            self.core.header.gc_ticks += tt_now(self.core) - gc_began
            self.core.header.gc_pauses += 1
            gc_began = 0

    def measure_all(self):
        """Begins to sample the memory of every section, stage and tick; not of waits, which do no work."""
        cdef tt_section* section = self.core.sections
        self.core.default_flags |= TT_FRAME_MEMORY
        while section != NULL:
            if not section.node_flags & (TT_NODE_WAIT | TT_NODE_NS):
                section.frame_flags |= TT_FRAME_MEMORY
            section = section.next

    def timed_section(self, name, site, *, memory=False, cpu=False, wait=False, device=None):
        """Creates a section for a decorated function, whose call site is its definition."""
        text = name_text(name)
        cdef uint32_t frame_flags = (TT_FRAME_MEMORY if memory else 0) | (TT_FRAME_CPU if cpu else 0)
        cdef uint32_t node_flags = TT_NODE_TIMED | (TT_NODE_WAIT if wait else 0)
        device = device_text(device, &node_flags)
        cdef Section section = made(self, text, name_id_of(self, text), node_flags, frame_flags, device)
        section.site = site
        return section

    @property
    def knows_thread(self):
        """Whether the calling thread has been in a section here: otherwise it is unknown what it did."""
        return bool(self.core.recording and not self.core.forked and tt_thread_has_sections(self.core))

    def start_from(self, Channel channel, key):
        """In a new process: continues its path from its parent's signal."""
        if ready(self):
            tt_start_from(self.core, channels_of(self, False), channel.key_hash(key))

    def alias(self, key, value=None):
        """Stores a number under a key for all processes of the run, or looks one up: 0 if there is none."""
        cdef uint64_t channel_key = channel_of("alias", key)
        if not ready(self) or channels_of(self, False) == NULL:
            return 0
        if value is None:
            return tt_alias_get(self.core.shared, channel_key)
        tt_alias_put(self.core.shared, channel_key, value)
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
        """Returns the section of a name, created if needed."""
        text = name_text(name)
        section = self.by_name.get(text)
        if section is not None:
            return section
        notice_hand(self)
        name_id = name_id_of(self, text) if len(self.by_name) < self.core.name_cap else TT_NAMELESS
        if name_id == TT_NAMELESS:
            return self._nameless()
        return self.by_name.setdefault(text, made(self, text, name_id, 0, 0, None))

    def _ask(self, name, uint32_t node_flags, uint32_t frame_flags, device=None):
        """Returns the section of a name with these flags, created if needed."""
        text = name_text(name)
        key = (text, node_flags, frame_flags, device)
        section = self.sections_by_options.get(key)
        if section is not None:
            return section
        notice_hand(self)
        # A recorded duration is in nanoseconds, a section in ticks: the same name is two nodes, which readers add.
        # Times of two clocks are two nodes as well, which readers keep separate.
        kind = node_flags & (TT_NODE_NS | TT_NODE_ON_DEVICE | TT_NODE_REMOTE)
        name_id = name_id_of(self, text, kind) if len(self.sections_by_options) < self.core.name_cap else TT_NAMELESS
        if name_id == TT_NAMELESS:
            return self._nameless()
        return self.sections_by_options.setdefault(key, made(self, text, name_id, node_flags, frame_flags, device))

    def _nameless(self):
        if None not in self.sections_by_options:
            self.sections_by_options[None] = new_section(self, "", TT_NAMELESS, 0, 0)
        return self.sections_by_options[None]

    def _bad_value(self):
        if ready(self):
            tt_lose(self.core, TT_LOSS_BAD_VALUES)


cdef uint64_t gc_began = 0


cdef object gauge_address(Recorder recorder, str text):
    """The address of a gauge's record, created if needed; None: no room."""
    cdef tt_gauge* record = NULL
    address = recorder.gauges.get(text)
    if address is not None:
        return address
    if len(recorder.gauges) < recorder.core.name_cap:
        record = tt_gauge_make(recorder.core, name_id_of(recorder, text))
    if record == NULL:
        tt_lose(recorder.core, TT_LOSS_MEMORY)
        return None
    recorder.gauges[text] = <size_t>record
    return recorder.gauges[text]
