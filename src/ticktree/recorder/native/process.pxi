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
    """Just before a fork: notes, in every recorder, what the child hangs under."""
    cdef tt_recorder* core = tt_recorders_head()
    while core != NULL:
        if core.header != NULL:
            tt_note_fork(core)
        core = core.next


def forget_fork():
    """After a fork, in the parent: the next may be one that nobody announces."""
    cdef tt_recorder* core = tt_recorders_head()
    while core != NULL:
        core.fork_noted = False
        core = core.next


cdef str place_text(tt_header* header, tt_ref node):
    return f"{header.pid}-{header.process_start}-{header.incarnation}:{node}"


def place_numbers(text):
    """A place's pid, start, incarnation and node; ValueError where it is none."""
    process, _, node = text.partition(":")
    numbers = [*process.split("-"), node]
    if len(numbers) != 4 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f"{text!r} names no place")
    pid, start, incarnation, at = map(int, numbers)
    if max(pid, start) >= 1 << 63 or max(incarnation, at) >= 1 << 32:
        raise ValueError(f"{text!r} names no place")
    return pid, start, incarnation, at
