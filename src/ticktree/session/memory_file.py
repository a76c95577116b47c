"""The memory file of a process, and how much memory it may claim."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ticktree.errors import TicktreeError, reason
from ticktree.recorder import TIMELINE_VARIABLE
from ticktree.session.showing import say

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# A run claims at most a quarter of the tmpfs: its other users, data loaders above all, need it too.
_CLAIM = 4
# Each process that begins looks at every file: with more files, that takes longer than folding them.
_CROWD = 256

# Who writes: pid, start, boot id, and the number of the program among those that the process has run.
Identity: TypeAlias = tuple[int, int, str, int]


def file_in(run: RunDirectory) -> tuple[Path, int, Identity]:
    """Return this process's memory file, how much it may claim there, and the process's identity."""
    from ticktree.files.owner import Owner
    from ticktree.run.memory import ProcessKey, size_of

    owner = Owner.current()
    space = os.statvfs(run.memory_dir)
    files = run.memory_files()
    claimed = sum(map(size_of, files))
    share = (space.f_bavail * space.f_frsize + claimed) // _CLAIM
    if len(files) >= _CROWD or 2 * claimed > share:
        from ticktree.run.helper_process import start_folding

        start_folding(run)
    limit = max(0, share - claimed)
    for incarnation in count(1):
        path = run.memory_dir / f"{ProcessKey(owner.pid, owner.started, incarnation)}.tt"
        if not path.exists():  # else this process ran another program before (exec), whose records stay
            break
    return path, limit, (owner.pid, owner.started, owner.boot_id, incarnation)


def file_of_child(run: RunDirectory) -> tuple[Path | None, int, Identity]:
    """Return the same for a process forked from this one; no file if the run is over."""
    try:
        return file_in(run)
    except FileNotFoundError:  # the run is over: the child outlived it, and its records are lost
        return no_file()
    except (OSError, MemoryError):
        be_without_room(run)
        return no_file()


def be_without_room(run: RunDirectory, file: Path | None = None) -> None:
    """Note that this process has no memory file (at a path that may be known), and may end without its records."""
    from ticktree.run.losses import note_without_room

    try:
        note_without_room(run, f"{os.getpid()}-0.tt" if file is None else file.name)
    except Exception as error:  # the program continues
        say(f"process {os.getpid()} is not recorded: {reason(error)}")


def no_file() -> tuple[None, int, Identity]:
    """Return the result of `file_in` for a process that records in private memory, only for itself."""
    return None, 0, (os.getpid(), 0, "", 1)


# 24 bytes each: 12 MB per process, of memory that other processes need as well.
DEFAULT_EVENTS = 500_000


def events_of(timeline: bool | int) -> int:
    """Return the number of events that `timeline=` requests; True requests the default."""
    if timeline is True:
        return DEFAULT_EVENTS
    if timeline < 0:
        raise TicktreeError(f"a timeline of {timeline} calls: give how many to keep, or True")
    return int(timeline)


def events_of_environment() -> int:
    """Return the number in TICKTREE_TIMELINE; 1 or any word requests the default, 0 or nothing none."""
    word = os.environ.get(TIMELINE_VARIABLE, "").strip()
    if word.isascii() and word.isdigit():
        return DEFAULT_EVENTS if int(word) == 1 else int(word)
    return DEFAULT_EVENTS if word else 0
