"""The memory file of a process, and how much memory it may claim."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ticktree.errors import TicktreeError, reason
from ticktree.recorder import TIMELINE_VARIABLE
from ticktree.session.showing import print_line

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# A run claims at most a quarter of the tmpfs: its other users, data loaders above all, need it too.
_CLAIM_DIVISOR = 4
# A process that begins reads the size of every file: with more files, that takes longer than folding them.
_MANY_FILES = 256

# The writer: pid, start, boot id, and the number of the program among those that the process has run.
Identity: TypeAlias = tuple[int, int, str, int]


def claim_file(run: RunDirectory) -> tuple[Path, int, Identity]:
    """Return this process's memory file, how many bytes it may claim there, and the process's identity."""
    from ticktree.files.owner import Owner
    from ticktree.run.memory import ProcessKey, size_of

    owner = Owner.current()
    space = os.statvfs(run.memory_dir)
    files = run.memory_files()
    claimed = sum(map(size_of, files))
    share = (space.f_bavail * space.f_frsize + claimed) // _CLAIM_DIVISOR
    if len(files) >= _MANY_FILES or 2 * claimed > share:
        from ticktree.run.helper_process import start_folding

        start_folding(run)
    limit = max(0, share - claimed)
    for incarnation in count(1):
        path = run.memory_dir / f"{ProcessKey(owner.pid, owner.started, incarnation)}.tt"
        if not path.exists():  # else this process ran another program before (exec), whose records stay
            break
    return path, limit, (owner.pid, owner.started, owner.boot_id, incarnation)


def claim_child_file(run: RunDirectory) -> tuple[Path | None, int, Identity]:
    """Return the result of `claim_file` for a process forked from this one; no file if the run is over."""
    try:
        return claim_file(run)
    except FileNotFoundError:  # the run is over: the child outlived it, and its records are lost
        return private_file()
    except (OSError, MemoryError):
        note_missing_file(run)
        return private_file()


def note_missing_file(run: RunDirectory, file: Path | None = None) -> None:
    """Note that this process has no memory file, which would be `file`, and may end without saving its records."""
    from ticktree.run.losses import note_without_room

    try:
        note_without_room(run, f"{os.getpid()}-0.tt" if file is None else file.name)
    except Exception as error:  # the program continues
        print_line(f"process {os.getpid()} is not recorded: {reason(error)}")


def private_file() -> tuple[None, int, Identity]:
    """Return the result of `claim_file` for a process that records in private memory, only for itself."""
    return None, 0, (os.getpid(), 0, "", 1)


# 24 bytes per event: 12 MB per process, of memory that other processes need as well.
DEFAULT_EVENTS = 500_000


def event_count(timeline: bool | int) -> int:
    """Return the number of events that `timeline=` requests; True requests the default."""
    if timeline is True:
        return DEFAULT_EVENTS
    if timeline < 0:
        raise TicktreeError(f"a timeline of {timeline} calls: give how many to keep, or True")
    return int(timeline)


def event_count_of_environment() -> int:
    """Return the number in TICKTREE_TIMELINE; 1 or any word requests the default, 0 or an empty value none."""
    value = os.environ.get(TIMELINE_VARIABLE, "").strip()
    if value.isascii() and value.isdigit():
        return DEFAULT_EVENTS if int(value) == 1 else int(value)
    return DEFAULT_EVENTS if value else 0
