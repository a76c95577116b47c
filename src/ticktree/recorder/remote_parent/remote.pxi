# The other program of a call: a request's sections here, for its client, and what another program reports.

cdef enum:
    REMOTE_NODES = 1024  # at most: another program chooses their names


@cython.no_gc_clear
cdef class Watch:
    """The time of the sections of one request: those below one call, and below calls that are watched after it.

    Requests that alternate on a thread have separate sums. Work on other threads counts if an executor runs it, or if it
    runs in a copy of a context in which `watch_var` is this watch.
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
        """Watches the innermost open call; False if nothing is recorded, or it is already watched."""
        cdef tt_recorder* core = self.recorder.core
        cdef tt_thread* thread = NULL
        if not ready(self.recorder):
            return False
        cdef tt_frame* frame = tt_innermost_frame(core, &thread)
        if not tt_watch_begin(core, &self.core, thread, frame):
            return False
        self.top = frame.node
        return True

    @property
    def in_call(self):
        """Whether the client is in this stack: client and server are in one process, without a network."""
        cdef tt_frame* frame = tt_watch_open(self.recorder.core, &self.core)
        return bool(frame != NULL and frame.flags & TT_FRAME_CALLING)

    @property
    def total_ns(self):
        """The watched calls' durations; an open one counts until now."""
        cdef tt_frame* frame = tt_watch_open(self.recorder.core, &self.core)
        cdef uint64_t ticks = self.core.sum
        if frame != NULL:
            ticks += tt_ticks_since(self.recorder.core, frame.start)
        return tt_ticks_to_ns(self.recorder.core, ticks)

    @property
    def lost(self):
        """Calls that are missing here, because there was no memory."""
        return self.core.lost

    def rows(self):
        """Returns one row per node below: (node, parent node, name, ns, of which concurrent).

        Open calls count until now. Rows directly below the watched call have a parent that is in no row.
        """
        cdef tt_recorder* core = self.recorder.core
        cdef uint32_t i
        cdef dict rows = {}
        if core.header == NULL or self.core.generation != core.generation or not self.top:
            return []
        for i in range(self.core.count):
            self._add(rows, self.core.rows[i].node, self.core.rows[i].sum, self.core.rows[i].concurrent)
        self._add_open(rows)
        return sorted(rows.values())

    cdef _add_open(self, dict rows):
        """Adds the calls that are open on this stack, from the innermost out."""
        cdef tt_recorder* core = self.recorder.core
        cdef tt_frame* top = tt_watch_open(core, &self.core)
        cdef tt_thread* thread = NULL
        cdef tt_frame* frame = tt_innermost_frame(core, &thread) if top != NULL else NULL
        cdef tt_frame* parent
        cdef uint64_t passed, covered
        while frame != NULL and frame != top:
            parent = tt_watch_parent(core, frame)
            if parent == NULL:
                return
            passed = tt_ticks_since(core, frame.start)
            covered = tt_ticks_since(core, parent.cover_start) if parent.active == 1 else 0
            if frame.node:
                self._add(rows, frame.node, passed, passed - min(passed, covered))
            frame = parent

    cdef _add(self, dict rows, tt_ref ref, uint64_t ticks, uint64_t concurrent):
        cdef tt_recorder* core = self.recorder.core
        cdef object names = self.recorder.node_names
        entry = names.get(ref)
        if entry is None:
            entry = names[ref] = (tt_parent_of(core, ref), node_name(core, ref))
        parent, name = entry
        if ref not in rows:
            if not parent or name is None:
                return
            if parent != self.top and parent not in rows:
                self._add(rows, parent, 0, 0)
                if parent not in rows:
                    return  # it is not below the watched call
            rows[ref] = (ref, parent, name, 0, 0)
        _, _, _, ns, overlap = rows[ref]
        ns += tt_ticks_to_ns(core, ticks)
        overlap += tt_ticks_to_ns(core, concurrent)
        rows[ref] = (ref, parent, name, ns, overlap)


cdef object node_name(tt_recorder* core, tt_ref ref):
    cdef tt_node* node = tt_node_at(core, ref)
    cdef const char* text
    if not node.name:
        return None
    text = <const char*>tt_at(core, node.name)
    return text[4:4 + (<const uint32_t*>text)[0]].decode("utf-8", "replace")


@cython.no_gc_clear
cdef class Calling:
    """The innermost open call, which waits for another program; that program's report goes below it."""

    cdef tt_calling core
    cdef readonly Recorder recorder

    def __cinit__(self, Recorder recorder):
        self.recorder = recorder
        if ready(recorder):
            tt_calling_begin(recorder.core, &self.core)

    def graft(self, str name, total_ns, rows=(), *, bint concurrent=False):
        """Adds a finished row of the other program below the call.

        Args:
            name: Its name here.
            total_ns: How long it took, by the other program's clock.
            rows: The rows below it: (depth, name, ns, of which concurrent), parents first; depth 1 is directly below.
            concurrent: Whether all of it is concurrent, because it is unknown which part of the call it was.

        Returns:
            Whether the call has as much self time; if not, the excess is concurrent.
        """
        cdef tt_recorder* core = self.recorder.core
        cdef tt_frame* frame = tt_calling_open(core, &self.core)
        if frame == NULL:
            return False
        cdef uint64_t total = tt_ns_to_ticks(core, total_ns)
        cdef uint64_t free_ticks = tt_self_ticks(core, frame)
        cdef uint64_t covered = 0 if concurrent else min(total, free_ticks)
        if not self._book(frame, name, total, total - covered, rows):
            return False
        frame.covered += covered
        return total <= free_ticks

    def rest(self, str name):
        """Adds the rest of the call's self time as a row below it."""
        cdef tt_frame* frame = tt_calling_open(self.recorder.core, &self.core)
        if frame == NULL:
            return
        cdef uint64_t ticks = tt_self_ticks(self.recorder.core, frame)
        if self._book(frame, name, ticks, 0, ()):
            frame.covered += ticks

    cdef bint _book(self, tt_frame* frame, str name, uint64_t total, uint64_t concurrent, object rows) except -1:
        """Books the tree of a row; each row covers at most the remaining self time of its parent."""
        cdef uint64_t ticks, covers
        cdef Section section
        cdef _GraftedRow top = self._make_row(name, frame.node), parent, row
        if top is None:
            return False
        top.self_ticks = top.total = total
        top.concurrent = concurrent
        cdef list booked = [top]
        cdef list row_stack = [top]  # by depth: the parent of a row of the next depth; None: it has no node
        for depth, row_name, ns, overlap in rows:
            del row_stack[max(1, depth):]
            parent = row_stack[len(row_stack) - 1]
            row = self._make_row(row_name, parent.node) if parent is not None else None
            row_stack.append(row)
            if row is None:
                continue  # its time stays in the row around it
            row.self_ticks = row.total = tt_ns_to_ticks(self.recorder.core, ns)
            covers = tt_ns_to_ticks(self.recorder.core, ns - overlap) if overlap < ns else 0
            covers = min(covers, parent.self_ticks)
            parent.self_ticks -= covers
            row.concurrent = row.total - covers
            booked.append(row)
        for row in booked:
            section = row.section
            tt_graft_book(&section.core, frame, row.parent, row.self_ticks, row.concurrent, row.total)
        return True

    cdef _GraftedRow _make_row(self, str name, tt_ref parent):
        """Creates a row below a node; None if there is no room for one."""
        cdef bint full = self.recorder.remote_nodes >= REMOTE_NODES
        cdef Section section = self.recorder.remote_sections.get(name)
        if section is None and not full:  # the names are limited too
            section = self.recorder.remote_sections[name] = remote_section(self.recorder, name, TT_NODE_REMOTE)
        if section is None or (full and not tt_node_get(&section.core, parent)):
            tt_lose(self.recorder.core, TT_LOSS_NODES)
            return None
        if not tt_node_get(&section.core, parent):
            self.recorder.remote_nodes += 1
        cdef _GraftedRow row = _GraftedRow()
        row.section, row.parent, row.node = section, parent, tt_node_find(&section.core, parent)
        if not row.node:
            tt_lose(self.recorder.core, TT_LOSS_NODES)
            return None
        return row


cdef Section remote_section(Recorder recorder, name, uint32_t node_flags):
    cdef bint by_hand = recorder.by_hand
    recorder.by_hand = True  # another program's names do not count as marks of this one
    try:
        return recorder._ask(name, node_flags, 0)
    finally:
        recorder.by_hand = by_hand


@cython.final
cdef class _GraftedRow:
    cdef Section section
    cdef tt_ref parent, node
    cdef uint64_t self_ticks, total, concurrent
