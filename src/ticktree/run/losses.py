"""Losses of a run: libraries that could not be instrumented, and processes without a memory file.

Processes note each library that could not be instrumented as expected:

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
# The most lines to read: a run imports a few dozen libraries.
_MOST = 1000


def note_instrument_loss(run: RunFiles, library: str, sentence: str) -> None:
    """Note that part of a library is not recorded.

    Args:
        run: The run.
        library: Its name, as after `--instrument`.
        sentence: One line that says what is not recorded and why.

    Raises:
        OSError: The file cannot be written.
        TicktreeError: The run's directory was replaced.
    """
    line = f"{json.dumps([library, sentence])}\n".encode()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with run.opened() as at:
        fd = os.open(NOT_INSTRUMENTED, flags, 0o666, dir_fd=at)
        with os.fdopen(fd, "r+b", buffering=0) as file:
            if line not in file.read(MOST_OF_FACTS):  # a thousand workers import the same library
                file.write(line)


def read_instrument_losses(run: RunFiles) -> Profile:
    """Return the noted losses as a profile with losses and metadata."""
    from ticktree.profile import Profile

    try:
        content = read_bytes(run.path / NOT_INSTRUMENTED, MOST_OF_FACTS, follow=False)
    except FileError:
        return Profile()
    facts: dict[str, set[str]] = {}
    for line in dict.fromkeys(content.decode(errors="replace").splitlines()[:_MOST]):
        try:
            library, sentence = json.loads(line)
        except ValueError:
            continue
        facts.setdefault(f"{_FACT}{library}", set()).add(str(sentence))
    return Profile(
        metadata={key: frozenset(sentences) for key, sentences in facts.items()},
        losses={_NOT_INSTRUMENTED: sum(map(len, facts.values()))} if facts else {},
    )


def instrument_losses(profile: Profile) -> Sequence[str]:
    """Return one sentence per module that is not instrumented, sorted by library."""
    return [
        str(sentence)
        for key, sentences in sorted(profile.metadata.items())
        if key.startswith(_FACT)
        for sentence in sorted(map(str, sentences))
    ]


def summarize_instrument_losses(profile: Profile) -> Sequence[str]:
    """Return the lines to print when the program ends, one per library."""
    lines = []
    for key, sentences in sorted(profile.metadata.items()):
        if key.startswith(_FACT):
            first, *others = sorted(map(str, sentences))
            more = f"; {len(others)} more: ticktree doctor" if others else ""
            lines.append(first + more)
    return lines


# Processes that found no room for a memory file: unless they save their records at their end, these are lost.
#
#     ticktree-runs/RUN/without-room     one line per process: the name that its memory file would have
#
# On disk, because there is no memory; written when such a process begins to record, because it may end in any way. A
# process that ends normally saves its file under that name in the run's directory, and no longer counts as lost.

LOSS = "processes_without_room"


def note_without_room(run: RunFiles, name: str) -> None:
    """Note that a process of a run has no memory file.

    Args:
        run: The run.
        name: The name that the file would have.

    Raises:
        OSError: The disk has no room either.
        TicktreeError: The run's directory was replaced.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with run.opened() as at:
        fd = os.open(WITHOUT_ROOM, flags, 0o666, dir_fd=at)
        try:
            os.write(fd, f"{name}\n".encode())
        finally:
            os.close(fd)


def count_without_room(run: RunFiles, known: Container[str]) -> int:
    """Return how many processes of a run found no room and have not saved their records.

    Args:
        run: The run.
        known: The names of the memory files that exist or have been folded.
    """
    try:
        content = read_bytes(run.path / WITHOUT_ROOM, MOST_OF_FACTS, follow=False)
    except FileError:
        return 0
    return sum(name not in known for name in set(content.decode(errors="replace").splitlines()))


def say_without_room(run: RunFiles, profile: Profile) -> str | None:
    """Return the message, once per run, about processes that found no room; None if there are none."""
    count = profile.losses.get(LOSS, 0)
    if not count:
        return None
    who = "1 process" if count == 1 else f"{count:,} processes"
    return f"{who} found no room in {run.memory_dir.parent.parent} and {'is' if count == 1 else 'are'} not recorded"
