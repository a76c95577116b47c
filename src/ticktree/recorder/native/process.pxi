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
    cdef tt_recorder* core = tt_recorders_head()
    while core != NULL:
        if core.header != NULL:
            tt_note_fork(core)
        core = core.next


def forget_fork():
    """After a fork, in the parent: the next may come without a call of `note_fork`."""
    cdef tt_recorder* core = tt_recorders_head()
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


cdef tt_recorder* tt_recorders_head():
    return tt_recorders


cdef void set_tt_recorders_head(tt_recorder* recorder):
    global tt_recorders
    tt_recorders = recorder
