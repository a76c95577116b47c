"""Losses of a run: libraries that could not be instrumented, and processes without a memory file.

Processes note each library that could not be instrumented as expected:

    ticktree-runs/RUN/not-instrumented     one line of JSON per process and module of a library

In the profile each module counts once, however many processes import it, and is named in the metadata.

Processes without a memory file lose their records unless they save them when they end:

    ticktree-runs/RUN/without-room     one line per process: the name that its memory file would have

It is on disk, because there is no memory, and is written when such a process begins to record, because it may end in
any way. A process that ends normally saves its file under that name in the run's directory, and no longer counts as
lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container
from typing import TYPE_CHECKING

from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, read_bytes
from ticktree.run.naming import NOT_INSTRUMENTED, WITHOUT_ROOM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ticktree.profile import Profile
    from ticktree.run.directory import RunFiles

_NOT_INSTRUMENTED = "modules_not_instrumented"
# Begins the metadata's key for a library; its values are sentences.
_FACT = "not_instrumented."
# The most lines to read: a run imports a few dozen libraries.
_MAX_LINES = 1000


def note_instrument_loss(run: RunFiles, library: str, sentence: str) -> None:
    """Note in one line that part of a library, named as after `--instrument`, is not recorded, and why.

    Raises:
        OSError: The file cannot be written.
        TicktreeError: The run's directory was replaced.
    """
    _append_note(run, NOT_INSTRUMENTED, json.dumps([library, sentence]))


def _append_note(run: RunFiles, name: str, text: str) -> None:
    """Append a line to a file of the run, unless it contains the line: a thousand workers import the same library."""
    line = f"{text}\n".encode()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with run.open_directory() as dir_fd:
        fd = os.open(name, flags, 0o666, dir_fd=dir_fd)
        with os.fdopen(fd, "r+b", buffering=0) as file:
            if line not in file.read(MAX_FACTS_BYTES).splitlines(keepends=True):
                file.write(line)


def _read_notes(run: RunFiles, name: str) -> list[str]:
    try:
        content = read_bytes(run.path / name, MAX_FACTS_BYTES, follow=False)
    except FileError:
        return []
    return content.decode(errors="replace").splitlines()


def read_instrument_losses(run: RunFiles) -> Profile:
    """Return the noted losses as a profile with losses and metadata."""
    from ticktree.profile import Profile

    facts: dict[str, set[str]] = {}
    for line in dict.fromkeys(_read_notes(run, NOT_INSTRUMENTED)[:_MAX_LINES]):
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
    return [sentence for sentences in _sentences_by_library(profile) for sentence in sentences]


def summarize_instrument_losses(profile: Profile) -> Sequence[str]:
    """Return the lines to print when the program ends, one per library."""
    return [
        f"{first}; {len(rest)} more: ticktree doctor" if rest else first
        for first, *rest in _sentences_by_library(profile)
    ]


def _sentences_by_library(profile: Profile) -> Iterator[list[str]]:
    for key, sentences in sorted(profile.metadata.items()):
        if key.startswith(_FACT):
            yield sorted(map(str, sentences))


WITHOUT_ROOM_LOSS = "processes_without_room"


def note_without_room(run: RunFiles, name: str) -> None:
    """Note that a process of a run has no memory file, by the name that it would have.

    Raises:
        OSError: The disk has no space either.
        TicktreeError: The run's directory was replaced.
    """
    _append_note(run, WITHOUT_ROOM, name)


def count_without_room(run: RunFiles, names: Container[str]) -> int:
    """Return the number of processes without a memory file whose saved file is not in `names`."""
    return sum(name not in names for name in set(_read_notes(run, WITHOUT_ROOM)))


def describe_missing_files(run: RunFiles, profile: Profile) -> str | None:
    """Return the message, once per run, about processes without a memory file; None if there are none."""
    count = profile.losses.get(WITHOUT_ROOM_LOSS, 0)
    if not count:
        return None
    processes, verb = ("1 process", "is") if count == 1 else (f"{count:,} processes", "are")
    return f"{processes} found no room in {run.memory_dir.parent.parent} and {verb} not recorded"
