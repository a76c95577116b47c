"""What of a run is not recorded: libraries that could not be instrumented, and processes without a memory file.

Libraries that could not be instrumented as expected, as the processes of a run have met it:

    ticktree-runs/RUN/not-instrumented     one line of JSON per process and module of a library

In the profile each module counts once, however many processes import it, and is named in the metadata.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container
from typing import TYPE_CHECKING

from ticktree.files.guarded import MOST_OF_FACTS, FileError, read_bytes
from ticktree.run.naming import NOT_INSTRUMENTED, WITHOUT_ROOM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ticktree.profile import Profile
    from ticktree.run.directory import RunFiles

_NOT_INSTRUMENTED = "modules_not_instrumented"
# Begins the metadata's key for a library; its values are sentences.
_FACT = "not_instrumented."
# Most that are read: a run imports a few dozen libraries.
_MOST = 1000


def note_instrument_loss(run: RunFiles, library: str, sentence: str) -> None:
    """Note that something of a library is not recorded.

    Args:
        run: The run.
        library: Its name, as after `--instrument`.
        sentence: What and why, in one line.

    Raises:
        OSError: The directory does not allow it.
        TicktreeError: The run's directory is not this run's any more.
    """
    line = f"{json.dumps([library, sentence])}\n".encode()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with run.opened() as at:
        fd = os.open(NOT_INSTRUMENTED, flags, 0o666, dir_fd=at)
        with os.fdopen(fd, "r+b", buffering=0) as file:
            if line not in file.read(MOST_OF_FACTS):  # a thousand workers import the same
                file.write(line)


def read_instrument_losses(run: RunFiles) -> Profile:
    """Return what was noted, as losses and metadata."""
    from ticktree.profile import Profile

    try:
        content = read_bytes(run.path / NOT_INSTRUMENTED, MOST_OF_FACTS, follow=False)
    except FileError:
        return Profile()
    found: dict[str, set[str]] = {}
    for line in dict.fromkeys(content.decode(errors="replace").splitlines()[:_MOST]):
        try:
            library, sentence = json.loads(line)
        except ValueError:
            continue
        found.setdefault(f"{_FACT}{library}", set()).add(str(sentence))
    return Profile(
        metadata={key: frozenset(sentences) for key, sentences in found.items()},
        losses={_NOT_INSTRUMENTED: sum(map(len, found.values()))} if found else {},
    )


def instrument_losses(profile: Profile) -> Sequence[str]:
    """Return a sentence for each module that is not instrumented, sorted by library."""
    return [
        str(sentence)
        for key, sentences in sorted(profile.metadata.items())
        if key.startswith(_FACT)
        for sentence in sorted(map(str, sentences))
    ]


def summarize_instrument_losses(profile: Profile) -> Sequence[str]:
    """Return the lines that are printed when the program ends: one per library."""
    lines = []
    for key, sentences in sorted(profile.metadata.items()):
        if key.startswith(_FACT):
            first, *others = sorted(map(str, sentences))
            more = f"; {len(others)} more: ticktree doctor" if others else ""
            lines.append(first + more)
    return lines


# Processes that found no room for a memory file: unless they keep what they recorded at their end, it is lost.
#
#     ticktree-runs/RUN/without-room     a line a process: what its memory file would be called
#
# On disk, because there is no memory; written to as such a process begins to record, because it may end in any way. A
# process that ends well keeps its file under that name in the run's directory, and is no longer lost.

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
    """The message, once per run, about processes that found no room; None where all did."""
    count = profile.losses.get(LOSS, 0)
    if not count:
        return None
    who = "1 process" if count == 1 else f"{count:,} processes"
    return f"{who} found no room in {run.memory_dir.parent.parent} and {'is' if count == 1 else 'are'} not recorded"
