"""Folding: memory files whose processes have ended become part of the run on disk, and their memory is given back.

Anybody may fold, and be killed while at it: `folded.json` is replaced in one step, only then are the files that it
names deleted, and who comes next deletes those that are left. A lock keeps folders from each other; readers need
none (gathering.py).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.directory import FOLDED, RunDirectory
from ticktree.run.memory import LOCK_NAME, memory_files, writer_of
from ticktree.run.owner import dead_among

if TYPE_CHECKING:
    from ticktree.run.folded import Folded
    from ticktree.run.gathering import Gathered
    from ticktree.run.image import Image
    from ticktree.run.joining import Joining
    from ticktree.run.places import Places

# Fewer are left to lie: reading them takes less than folding does.
MANY_FILES = 64
MANY_BYTES = 16 << 20


def fold_if_many(run: RunDirectory) -> int:
    """Folds a run's finished files if they are many or large; a look at the directory, if they are not.

    Returns:
        How many files were folded.

    Raises:
        TicktreeError: What was recorded cannot be read; nothing has changed.
        OSError: What was folded cannot be written; nothing has changed.
    """
    files = memory_files(run.memory_dir)
    if not _are_many(files) or not _are_many(_finished(run, files)):
        return 0
    return fold_finished(run)


def fold_finished(run: RunDirectory) -> int:
    """Folds the files of all processes of a run that have ended, unless somebody else is at it.

    Returns:
        How many files were folded.

    Raises:
        TicktreeError: What was recorded cannot be read; nothing has changed.
        OSError: What was folded cannot be written; nothing has changed.
    """
    with _lock(run.memory_dir) as is_ours:
        return _fold(run) if is_ours else 0


def _fold(run: RunDirectory) -> int:
    from ticktree.run.gathering import gather  # from here on it is slow
    from ticktree.run.places import Places

    ended = set(_finished(run, run.memory_files()))
    found = gather(run)
    if run.path / FOLDED in found.errors:
        # Replaced by another, what it held would be lost without a word.
        raise found.errors[run.path / FOLDED]
    _delete(path for path in run.memory_files() if path.name in found.folded.files)
    # Processes that ended before they began to record have left nothing but their files.
    _delete(path for path in found.unbegun if path in ended)
    places = Places(found.folded.places)
    parts = _readable(run, found, ended, places)
    if not parts:
        return 0
    files = {path: image.writer for path, (image, _) in parts.items()}
    more = _merged(found.folded, [joining for _, joining in parts.values()])
    more.with_files({path.name: writer for path, writer in files.items()}, places).write(run.path)
    _delete(files)
    if run.is_finished():  # meanwhile, with all that was there
        (run.path / FOLDED).unlink(missing_ok=True)
    return len(files)


def _readable(
    run: RunDirectory, found: Gathered, ended: set[Path], places: Places
) -> dict[Path, tuple[Image, Joining]]:
    """The files that can be folded now; where their nodes are, and those of the living, is added to `places`."""
    from ticktree.run.image import DamagedError
    from ticktree.run.joining import Joining
    from ticktree.run.places import parents_first

    paths = {id(image): path for path, image in found.images.items()}
    parts = {}
    for image in parents_first(found.images.values()):
        path = paths[id(image)]
        if not _has_its_place(run, image, places):
            continue
        joining = Joining(run.id, places)
        if path in ended:
            joining.add(image)
        with suppress(DamagedError):  # it stays as it is, and is said to be damaged when the run is read
            if not joining.errors:
                places.add(image)
                parts[path] = (image, joining)
    return {path: part for path, part in parts.items() if path in ended}


def _merged(folded: Folded, parts: Sequence[Joining]) -> Folded:
    """What was folded and what comes to it."""
    whole, loose, longest = folded.profile, list(folded.loose), folded.longest
    for part in parts:
        whole += part.profile(is_whole=False)
        more, other = part.left_over
        loose, longest = [*loose, *more], longest.or_longer(other)
    return replace(folded, profile=whole, loose=tuple(loose), longest=longest)


def _has_its_place(run: RunDirectory, image: Image, places: Places) -> bool:
    """Whether it is settled where a process hangs: under a node that is known, or under none.

    A parent that is alive may yet leave its own file, if it records in private memory; one whose file is there and
    not known could not be read.
    """
    if not image.parent.pid or image.parent in places:
        return True
    owner, parent = run.manifest.owner, image.parent[:2]
    if run.manifest.supervised and parent == (owner.pid, owner.started):
        return True  # a supervisor records nothing
    return bool(dead_among(owner, [parent])) and parent not in map(writer_of, run.memory_files())


def _are_many(files: list[Path]) -> bool:
    return len(files) > MANY_FILES or sum(map(_size, files)) > MANY_BYTES


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # somebody else folds
        return 0


def _finished(run: RunDirectory, files: Sequence[Path]) -> list[Path]:
    """Those of `files` whose processes have ended, seen from here."""
    dead = dead_among(run.manifest.owner, {writer_of(file) for file in files})
    return [file for file in files if writer_of(file) in dead]


def _delete(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


@contextmanager
def _lock(memory: Path) -> Iterator[bool]:
    """Whether nobody else folds this run; who does is not waited for."""
    try:
        fd = os.open(memory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:  # no memory left to fold, or no room for one more name
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        # Taken back by name: a child forked meanwhile has the descriptor too.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)
