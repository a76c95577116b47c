# A forked child: own memory, under the node that was open where it was forked. And a process that is no longer
# recorded: none.


cdef bint take_own_memory(Recorder recorder) except *:
    """Gives a forked child its own file, under the node that was open where it was forked."""
    cdef bint was_recording = recorder.core.recording
    recorder.core.forked = False
    if recorder.core.header == NULL:
        opening, recorder.opening, recorder.core.recording = recorder.opening, None, False
        if opening is not None:
            opening()
        return bool(was_recording and recorder.core.header != NULL and tt_enable(recorder.core))
    if recorder.core.arena.fd < 0 and recorder.child_file is None:
        return was_recording  # private memory was copied by the fork: recording continues
    cdef tt_header old = recorder.core.header[0]
    tt_leave_memory(recorder.core)
    recorder.path_of_file = None
    recorder.texts, recorder.gauges, recorder.watched = {}, {}, {}
    recorder.remote_nodes = 0
    path, limit, identity = recorder.child_file() if recorder.child_file is not None else (None, 1 << 40, (0, 0, ""))
    encoded = os.fsencode(path) if path is not None else b""
    made = tt_arena_open(&recorder.core.arena, <const char*>encoded if path is not None else NULL, limit) == 1
    if not made:
        made = tt_arena_open(&recorder.core.arena, NULL, 0) == 1
    if path is not None and recorder.core.arena.fd < 0 and recorder.without_room is not None:
        recorder.without_room(path)
    if not made:
        return False
    recorder.path_of_file = path if recorder.core.arena.fd >= 0 else None
    tt_header_write(recorder.core, old.ns_per_tick, old.run_began_ns, old.node_cap)
    recorder._sign(identity)
    recorder.core.header.parent_pid, recorder.core.header.parent_start = old.pid, old.process_start
    recorder.core.header.parent_incarnation = old.incarnation
    recorder.core.header.parent_node = recorder.core.fork_node
    introduce(recorder)
    recorder.core.header.inner_cost, recorder.core.header.outer_cost = old.inner_cost, old.outer_cost
    if not was_recording or not tt_enable(recorder.core):
        return False
    tt_path_of_fork(recorder.core)
    return True


cdef leave_memory(Recorder recorder):
    """The addresses stay, without a file, as in a forked child: threads that are in a section still look there."""
    recorder.opening, recorder.core.forked, recorder.core.recording = None, False, False
    if recorder.core.header == NULL:
        return
    tt_leave_memory(recorder.core)
    tt_arena_open(&recorder.core.arena, NULL, 0)
    recorder.path_of_file = None
    recorder.texts, recorder.gauges, recorder.watched = {}, {}, {}
    recorder.remote_nodes = 0
