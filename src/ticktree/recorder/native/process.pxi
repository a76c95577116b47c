# Processes that are started from this one: what they inherit, and where they hang.

cdef extern char** environ


def environment():
    """What a process started now inherits, entry by entry; `os.environ` may say otherwise."""
    cdef Py_ssize_t at = 0
    found = []
    while environ != NULL and environ[at] != NULL:
        found.append(<bytes>environ[at])
        at += 1
    return found


def note_fork():
    """Just before a fork: notes, in every recorder, the child's parent node."""
    cdef tt_recorder* core = tt_recorders
    while core != NULL:
        if core.header != NULL:
            tt_note_fork(core)
        core = core.next


def forget_fork():
    """After a fork, in the parent: the next may come without a call of `note_fork`."""
    cdef tt_recorder* core = tt_recorders
    while core != NULL:
        core.fork_noted = False
        core = core.next


cdef str place_text(tt_header* header, tt_ref node):
    return f"{header.pid}-{header.process_start}-{header.incarnation}:{node}"


def place_numbers(text):
    """A place's pid, start, incarnation and node; ValueError where it is invalid."""
    process, _, node = text.partition(":")
    numbers = [*process.split("-"), node]
    if len(numbers) != 4 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f"{text!r} names no place")
    pid, start, incarnation, at = map(int, numbers)
    if not pid or max(pid, start) >= 1 << 63 or max(incarnation, at) >= 1 << 32:
        raise ValueError(f"{text!r} names no place")
    return pid, start, incarnation, at


cdef object place_here(Recorder recorder):
    """The text that leads a process started here to what is open; None where nothing is being recorded."""
    cdef tt_origin origin
    if not recorder.core.recording:
        return None
    if recorder.core.forked:  # it has recorded nothing itself, and may never: what it starts hangs where it would
        known = recorder.core.header != NULL and recorder.core.header.pid
        return recorder.next_parent or (place_text(recorder.core.header, recorder.core.fork_node) if known else None)
    if not recorder.core.header.pid:
        return None
    tt_origin_capture(recorder.core, &origin)
    return place_text(recorder.core.header, origin.node)


cdef void take_role(Recorder recorder, str text) except *:
    """The calling thread's role, or on the main thread the process's."""
    is_main = threading.get_ident() == threading.main_thread().ident
    if recorder.core.header == NULL and not recorder.core.forked:
        recorder.next_role = text if is_main else recorder.next_role
        return
    if recorder.core.forked and not rearm(recorder.core):
        return
    if is_main:
        recorder.core.header.role = text_in(recorder, text)
    elif recorder.core.recording:
        recorder.core.role_of_new = text_in(recorder, text)
        thread = tt_thread_here(recorder.core)
        if thread != NULL:
            tt_thread_role(recorder.core, thread, recorder.core.role_of_new)
        recorder.core.role_of_new = 0


cdef tt_ref text_in(Recorder recorder, str text) except *:
    """The reference of a name in the recorder's file; 0 for none."""
    cdef bint cut = False
    return store_text(recorder.core, recorder.texts, name_bytes(text, &cut).decode()) if text else 0


cdef void introduce(Recorder recorder) except *:
    """Names this process in a new file. Children have their parent's name, but not its role."""
    if recorder.next_name:
        recorder.core.header.process_name = text_in(recorder, recorder.next_name)
    if recorder.next_role:
        recorder.core.header.role = text_in(recorder, recorder.next_role)
    parent, recorder.next_role, recorder.next_parent = recorder.next_parent, None, None
    if parent:
        recorder.child_of(parent)


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
    forget_memory(recorder)
    path, limit, identity = recorder.child_file() if recorder.child_file is not None else (None, 1 << 40, (0, 0, ""))
    made = open_arena(recorder, path, limit) == 1 or open_arena(recorder, None, 0) == 1
    if path is not None and recorder.path_of_file is None and recorder.without_room is not None:
        recorder.without_room(path)
    if not made:
        return False
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
    forget_memory(recorder)
    open_arena(recorder, None, 0)


cdef forget_memory(Recorder recorder):
    tt_leave_memory(recorder.core)
    recorder.path_of_file = None
    recorder.texts, recorder.gauges, recorder.watched = {}, {}, {}
    recorder.remote_nodes = 0


cdef int open_arena(Recorder recorder, path, uint64_t limit) except? -2:
    """As `tt_arena_open`, which says how it went; notes the file, where it is one."""
    cdef bytes encoded = os.fsencode(path) if path is not None else b""
    made = tt_arena_open(&recorder.core.arena, <const char*>encoded if path is not None else NULL, limit)
    recorder.path_of_file = path if made == 1 and recorder.core.arena.fd >= 0 else None
    return made
