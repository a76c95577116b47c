# The far side of a call: what a request's own sections took here, for the client; what another program reports.

cdef enum:
    REMOTE_NODES = 1024  # another program chooses these names: of the nodes there may be, they get so many at most


@cython.no_gc_clear
cdef class Watch:
    """What the sections of one request took: those below one call, and below others that are watched after it.

    Requests that take turns on a thread each have their own sums. What is done on other threads counts where it is
    handed to them by an executor, or in a copy of a context in which `watch_var` is this watch.
    """

    cdef tt_watch core
    cdef tt_ref top
    cdef readonly Recorder recorder
    cdef object __weakref__

    def __cinit__(self, Recorder recorder):
        self.recorder = recorder
        if recorder.core.watch_var == NULL:
            recorder.core.watch_var = <PyObject*>recorder.watch_var

    def __dealloc__(self):
        if self.recorder is not None:
            tt_watch_free(self.recorder.core, &self.core)

    def begin(self):
        """Watches the innermost open call; False where nothing is recorded, or it is watched already."""
        cdef tt_recorder* core = self.recorder.core
        cdef tt_thread* thread = NULL
        if not ready(self.recorder):
            return False
        cdef tt_frame* frame = tt_frame_here(core, &thread)
        if not tt_watch_begin(core, &self.core, thread, frame):
            return False
        self.top = frame.node
        return True

    @property
    def in_call(self):
        """Whether the client is in this very stack: a client and its server in one process, without a network."""
        cdef tt_frame* frame = tt_watch_open(self.recorder.core, &self.core)
        return bool(frame != NULL and frame.flags & TT_FRAME_CALLING)

    @property
    def total_ns(self):
        """The watched calls' durations; where one is open, until now."""
        cdef tt_frame* frame = tt_watch_open(self.recorder.core, &self.core)
        cdef uint64_t ticks = self.core.sum
        if frame != NULL:
            ticks += tt_since(self.recorder.core, frame.start)
        return tt_ticks_to_ns(self.recorder.core, ticks)

    @property
    def lost(self):
        """Calls that are missing here, for want of memory."""
        return self.core.lost

    def rows(self):
        """What is below: (node, the node around it, name, ns, of which concurrent), one row per node.

        Calls that are open are in it until now. Right below the watched call are those whose node around is no row's.
        """
        cdef tt_recorder* core = self.recorder.core
        cdef uint32_t at
        cdef dict found = {}
        if core.header == NULL or self.core.generation != core.generation or not self.top:
            return []
        for at in range(self.core.count):
            self._add(found, self.core.rows[at].node, self.core.rows[at].sum, self.core.rows[at].concurrent)
        self._add_open(found)
        return sorted(found.values())

    cdef _add_open(self, dict found):
        """The calls that are open on this stack, from the innermost out."""
        cdef tt_recorder* core = self.recorder.core
        cdef tt_frame* top = tt_watch_open(core, &self.core)
        cdef tt_thread* thread = NULL
        cdef tt_frame* frame = tt_frame_here(core, &thread) if top != NULL else NULL
        cdef tt_frame* above
        cdef uint64_t passed, covered
        while frame != NULL and frame != top:
            above = tt_watch_above(core, frame)
            if above == NULL:
                return
            passed = tt_since(core, frame.start)
            covered = tt_since(core, above.cover_start) if above.active == 1 else 0
            if frame.node:
                self._add(found, frame.node, passed, passed - min(passed, covered))
            frame = above

    cdef _add(self, dict found, tt_ref ref, uint64_t ticks, uint64_t concurrent):
        cdef tt_recorder* core = self.recorder.core
        cdef object known = self.recorder.watched
        above = known.get(ref)
        if above is None:
            above = known[ref] = (tt_parent_of(core, ref), name_of_node(core, ref))
        parent, name = above
        if ref not in found:
            if not parent or name is None:
                return
            if parent != self.top and parent not in found:
                self._add(found, parent, 0, 0)
                if parent not in found:
                    return  # it is not below the watched call
            found[ref] = (ref, parent, name, 0, 0)
        _, _, _, ns, overlap = found[ref]
        ns += tt_ticks_to_ns(core, ticks)
        overlap += tt_ticks_to_ns(core, concurrent)
        found[ref] = (ref, parent, name, ns, overlap)


cdef object name_of_node(tt_recorder* core, tt_ref ref):
    cdef tt_node* node = tt_node_at(core, ref)
    cdef const char* text
    if not node.name:
        return None
    text = <const char*>tt_at(core, node.name)
    return text[4:4 + (<const uint32_t*>text)[0]].decode("utf-8", "replace")


@cython.no_gc_clear
cdef class Calling:
    """The innermost open call, which waits for another program; what that program says of it is put below it."""

    cdef tt_calling core
    cdef readonly Recorder recorder

    def __cinit__(self, Recorder recorder):
        self.recorder = recorder
        if ready(recorder):
            tt_calling_begin(recorder.core, &self.core)

    def graft(self, str name, total_ns, rows=(), *, bint concurrent=False):
        """Puts a finished row of the other program's under the call.

        Args:
            name: What it is called here.
            total_ns: How long it took, by the other's clock.
            rows: What is below it: (depth, name, ns, of which concurrent), parents first; depth 1 is right below.
            concurrent: Whether all of it is concurrent: it is not known what of the call it was.

        Returns:
            Whether the call has as much self time: else what is above that is concurrent.
        """
        cdef tt_recorder* core = self.recorder.core
        cdef tt_frame* frame = tt_calling_open(core, &self.core)
        if frame == NULL:
            return False
        cdef uint64_t total = tt_ns_to_ticks(core, total_ns)
        cdef uint64_t free_ticks = tt_own_so_far(core, frame)
        cdef uint64_t covered = 0 if concurrent else min(total, free_ticks)
        if not self._book(frame, name, total, total - covered, rows):
            return False
        frame.covered += covered
        return total <= free_ticks

    def rest(self, str name):
        """Puts what is left of the call's self time under it."""
        cdef tt_frame* frame = tt_calling_open(self.recorder.core, &self.core)
        if frame == NULL:
            return
        cdef uint64_t ticks = tt_own_so_far(self.recorder.core, frame)
        if self._book(frame, name, ticks, 0, ()):
            frame.covered += ticks

    cdef bint _book(self, tt_frame* frame, str name, uint64_t total, uint64_t concurrent, object rows) except -1:
        """Books the tree of a row; each row covers what is left of the one around it, at most."""
        cdef uint64_t ticks, covers
        cdef Section section
        cdef _Grafted top = self._placed(name, frame.node), above, row
        if top is None:
            return False
        top.own = top.total = total
        top.concurrent = concurrent
        cdef list booked = [top]
        cdef list around = [top]  # by depth: what a row of the next is in; None: in what has no place
        for depth, below, ns, overlap in rows:
            del around[max(1, depth):]
            above = around[len(around) - 1]
            row = self._placed(below, above.node) if above is not None else None
            around.append(row)
            if row is None:
                continue  # its time stays in the row around it
            row.own = row.total = tt_ns_to_ticks(self.recorder.core, ns)
            covers = tt_ns_to_ticks(self.recorder.core, ns - overlap) if overlap < ns else 0
            covers = min(covers, above.own)
            above.own -= covers
            row.concurrent = row.total - covers
            booked.append(row)
        for row in booked:
            section = row.section
            tt_graft_book(&section.core, frame, row.parent, row.own, row.concurrent, row.total)
        return True

    cdef _Grafted _placed(self, str name, tt_ref parent):
        """A row below a node; None where there is no room for one."""
        cdef bint full = self.recorder.remote_nodes >= REMOTE_NODES
        cdef Section section = self.recorder.far.get(name)
        if section is None and not full:  # names are few too
            section = self.recorder.far[name] = far_section(self.recorder, name, TT_NODE_REMOTE)
        if section is None or (full and not tt_node_known(&section.core, parent)):
            tt_lose(self.recorder.core, TT_LOSS_NODES)
            return None
        if not tt_node_known(&section.core, parent):
            self.recorder.remote_nodes += 1
        cdef _Grafted row = _Grafted()
        row.section, row.parent, row.node = section, parent, tt_node_find(&section.core, parent)
        if not row.node:
            tt_lose(self.recorder.core, TT_LOSS_NODES)
            return None
        return row


cdef Section far_section(Recorder recorder, name, uint32_t node_flags):
    cdef bint by_hand = recorder.by_hand
    recorder.by_hand = True  # not to be noticed: another program's names are no marks of this one's
    try:
        return recorder._ask(name, node_flags, 0)
    finally:
        recorder.by_hand = by_hand


@cython.final
cdef class _Grafted:
    cdef Section section
    cdef tt_ref parent, node
    cdef uint64_t own, total, concurrent
