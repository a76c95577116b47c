"""Processes that found no room for a memory file: unless they keep what they recorded at their end, it is lost.

    ticktree-runs/RUN/without-room     a line a process: what its memory file would be called

On disk, because there is no memory; written to as such a process begins to record, because it may end in any way. A
process that ends well keeps its file under that name in the run's directory, and is no longer lost.
"""

from __future__ import annotations

import os
from collections.abc import Container
from typing import TYPE_CHECKING

from ticktree.files.guarded import MOST_OF_FACTS, FileError, read_bytes
from ticktree.run.naming import WITHOUT_ROOM

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.directory import RunFiles

LOSS = "processes_without_room"


def note_without_room(run: RunFiles, name: str) -> None:
    """Note that a process of a run has no memory file.

    Args:
        run: The run.
        name: What the file would be called.

    Raises:
        OSError: There is no room for that either.
        TicktreeError: The run's directory is not this run's any more.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with run.opened() as at:
        fd = os.open(WITHOUT_ROOM, flags, 0o666, dir_fd=at)
        try:
            os.write(fd, f"{name}\n".encode())
        finally:
            os.close(fd)


def count_without_room(run: RunFiles, known: Container[str]) -> int:
    """How many processes of a run found no room, and have kept nothing of what they recorded.

    Args:
        run: The run.
        known: The names of the memory files that there are, or have been folded.
    """
    try:
        content = read_bytes(run.path / WITHOUT_ROOM, MOST_OF_FACTS, follow=False)
    except FileError:
        return 0
    return sum(name not in known for name in set(content.decode(errors="replace").splitlines()))


def say_without_room(run: RunFiles, profile: Profile) -> str | None:
    """What to tell, once a run, of processes that found no room; None where all did."""
    count = profile.losses.get(LOSS, 0)
    if not count:
        return None
    who = "1 process" if count == 1 else f"{count:,} processes"
    return f"{who} found no room in {run.memory_dir.parent.parent} and {'is' if count == 1 else 'are'} not recorded"
