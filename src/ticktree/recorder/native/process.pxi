# Processes started from this one: what they inherit, and their parent node.

cdef extern char** environ


def environment():
    """Returns the environment that a process started now inherits, as entries; `os.environ` may differ."""
    cdef Py_ssize_t i = 0
    entries = []
    while environ != NULL and environ[i] != NULL:
        entries.append(<bytes>environ[i])
        i += 1
    return entries


def note_fork():
    """Just before a fork: stores the child's parent node, in every recorder."""
    cdef tt_recorder* core = tt_recorders
    while core != NULL:
        if core.header != NULL:
            tt_note_fork(core)
        core = core.next


def forget_fork():
    """After a fork, in the parent: the next fork may come without a call of `note_fork`."""
    cdef tt_recorder* core = tt_recorders
    while core != NULL:
        core.is_fork_noted = False
        core = core.next


cdef str node_address(tt_header* header, tt_ref node):
    return f"{header.pid}-{header.process_start}-{header.incarnation}:{node}"


def place_numbers(text):
    """Returns an address's pid, start, incarnation and node; ValueError if it is invalid."""
    process, _, node = text.partition(":")
    numbers = [*process.split("-"), node]
    if len(numbers) != 4 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f"{text!r} names no place")
    pid, start, incarnation, node_ref = map(int, numbers)
    if not pid or max(pid, start) >= 1 << 63 or max(incarnation, node_ref) >= 1 << 32:
        raise ValueError(f"{text!r} names no place")
    return pid, start, incarnation, node_ref


cdef object open_node_address(Recorder recorder):
    """The address of the open node, for a process started here; None if nothing is being recorded."""
    cdef tt_origin origin
    if not recorder.core.recording:
        return None
    if recorder.core.forked:  # it has not recorded yet, and may never: its children get its own parent
        if recorder.next_parent or recorder.core.header == NULL or not recorder.core.header.pid:
            return recorder.next_parent
        return node_address(recorder.core.header, recorder.core.fork_node)
    if not recorder.core.header.pid:
        return None
    tt_origin_capture(recorder.core, &origin)
    return node_address(recorder.core.header, origin.node)


cdef void set_role(Recorder recorder, str text) except *:
    """Sets the calling thread's role, or on the main thread the process's."""
    is_main = threading.get_ident() == threading.main_thread().ident
    if recorder.core.header == NULL and not recorder.core.forked:
        recorder.next_role = text if is_main else recorder.next_role
        return
    if recorder.core.forked and not rearm(recorder.core):
        return
    if is_main:
        recorder.core.header.role = text_ref(recorder, text)
    elif recorder.core.recording:
        recorder.core.new_role = text_ref(recorder, text)
        thread = tt_thread_here(recorder.core)
        if thread != NULL:
            tt_thread_role(recorder.core, thread, recorder.core.new_role)
        recorder.core.new_role = 0


cdef tt_ref text_ref(Recorder recorder, str text) except *:
    """The reference of a name in the recorder's file; 0 for none."""
    cdef bint cut = False
    return store_text(recorder.core, recorder.texts, name_bytes(text, &cut).decode()) if text else 0


cdef void write_names(Recorder recorder) except *:
    """Writes this process's name, role and parent to a new file. Children inherit the name, but not the role."""
    if recorder.next_name:
        recorder.core.header.process_name = text_ref(recorder, recorder.next_name)
    if recorder.next_role:
        recorder.core.header.role = text_ref(recorder, recorder.next_role)
    parent, recorder.next_role, recorder.next_parent = recorder.next_parent, None, None
    if parent:
        recorder.child_of(parent)


# Memory of a forked child, and of a process that is no longer recorded.


cdef bint open_child_memory(Recorder recorder) except *:
    """Gives a forked child its own file, below the node that was open at the fork."""
    cdef bint was_recording = recorder.core.recording
    recorder.core.forked = False
    if recorder.core.header == NULL:
        opening, recorder.opening, recorder.core.recording = recorder.opening, None, False
        if opening is not None:
            opening()
        return bool(was_recording and recorder.core.header != NULL and tt_enable(recorder.core))
    if recorder.core.arena.fd < 0 and recorder.child_file is None:
        return was_recording  # the fork copied the private memory: recording continues
    cdef tt_header old = recorder.core.header[0]
    forget_memory(recorder)
    path, limit, identity = recorder.child_file() if recorder.child_file is not None else (None, 1 << 40, (0, 0, ""))
    is_open = open_arena(recorder, path, limit) == 1 or open_arena(recorder, None, 0) == 1
    if path is not None and recorder.path_of_file is None and recorder.without_room is not None:
        recorder.without_room(path)
    if not is_open:
        return False
    tt_header_write(recorder.core, old.ns_per_tick, old.run_began_ns, old.node_cap)
    recorder._sign(identity)
    recorder.core.header.parent_pid, recorder.core.header.parent_start = old.pid, old.process_start
    recorder.core.header.parent_incarnation = old.incarnation
    recorder.core.header.parent_node = recorder.core.fork_node
    write_names(recorder)
    recorder.core.header.inner_cost, recorder.core.header.outer_cost = old.inner_cost, old.outer_cost
    if not was_recording or not tt_enable(recorder.core):
        return False
    tt_path_of_fork(recorder.core)
    return True


cdef leave_memory(Recorder recorder):
    """Keeps the addresses, without a file, as in a forked child: threads in a section still read them."""
    recorder.opening, recorder.core.forked, recorder.core.recording = None, False, False
    if recorder.core.header == NULL:
        return
    forget_memory(recorder)
    open_arena(recorder, None, 0)


cdef forget_memory(Recorder recorder):
    tt_leave_memory(recorder.core)
    recorder.path_of_file = None
    recorder.texts, recorder.gauges, recorder.node_names = {}, {}, {}
    recorder.remote_nodes = 0


cdef int open_arena(Recorder recorder, path, uint64_t limit) except? -2:
    """Calls `tt_arena_open`, returns its result, and stores the path of a file."""
    cdef bytes encoded = os.fsencode(path) if path is not None else b""
    result = tt_arena_open(&recorder.core.arena, <const char*>encoded if path is not None else NULL, limit)
    recorder.path_of_file = path if result == 1 and recorder.core.arena.fd >= 0 else None
    return result
