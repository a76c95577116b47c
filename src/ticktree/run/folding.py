"""Folding: memory files whose processes have ended become part of the run on disk, and their memory is given back.

Any process may fold, and be killed while it does: `folded.json` is replaced in one step, only then are the
files that it names deleted, and the next folder deletes those that are left. A lock keeps folders from each
other; readers need none (gathering.py).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.files.owner import dead_among
from ticktree.run.directory import RunFiles
from ticktree.run.memory import memory_files, open_lock, writer_of
from ticktree.run.naming import FOLDED
from ticktree.run.room import require_room

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.folded import Gathered
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.joining import Joining
    from ticktree.run.reading.tree import NodeLocations

# Fewer are left to lie: reading them takes less than folding does.
MANY_FILES = 64
MANY_BYTES = 16 << 20


def fold_if_many(run: RunFiles) -> int:
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


def fold_finished(run: RunFiles) -> int:
    """Folds the files of all processes of a run that have ended, unless another process does so now.

    Returns:
        How many files were folded.

    Raises:
        TicktreeError: What was recorded cannot be read; nothing has changed.
        OSError: What was folded cannot be written; nothing has changed.
    """
    with _lock(run.memory_dir) as is_ours:
        return _fold(run) if is_ours else 0


def _fold(run: RunFiles) -> int:
    require_room()
    from ticktree.profile import Profile  # from here on it is slow
    from ticktree.run.folded import gather
    from ticktree.run.timeline import keep_timeline

    ended = set(_finished(run, run.memory_files()))
    found = gather(run)
    if run.path / FOLDED in found.errors:
        # Replaced by another, what it held would be lost without a word.
        raise found.errors[run.path / FOLDED]
    _delete(run, [path for path in run.memory_files() if path.name in found.folded.files])
    # Processes that ended before they began to record have left nothing but their files.
    _delete(run, [path for path in found.unbegun if path in ended])
    ready, places = _placed(run, found, ended)
    profile, joining = _joined(run, ready.values(), places)
    if joining.errors:
        # Damaged files stay as they are; reading the run reports them.
        for path, image in ready.items():
            if _joined(run, [image], places)[1].errors:
                del found.images[path]
        ready, places = _placed(run, found, ended)
        profile, joining = _joined(run, ready.values(), places)
    if not ready:
        return 0
    profile += Profile(losses=keep_timeline(run, only=set(ready)))
    more = found.folded.with_more(profile, *joining.left_over)
    more = more.with_files({path.name: image.writer for path, image in ready.items()}, places)
    run.write(FOLDED, more.to_text().encode(), durable=True)
    _delete(run, ready)
    if run.is_finished():  # meanwhile, with all that was there
        run.remove([FOLDED])
    return len(ready)


def _placed(run: RunFiles, found: Gathered, ended: set[Path]) -> tuple[dict[Path, Image], NodeLocations]:
    """The files of the ended whose place in the tree is settled, and where the nodes of all are that have theirs."""
    from ticktree.run.reading.image import DamagedError
    from ticktree.run.reading.tree import NodeLocations, parents_first

    places = NodeLocations(found.folded.places)
    paths = {id(image): path for path, image in found.images.items()}
    ready = {}
    for image in parents_first(found.images.values()):
        if _has_its_place(run, image, places):
            with suppress(DamagedError):
                places.add(image)
                ready[paths[id(image)]] = image
    return {path: image for path, image in ready.items() if path in ended}, places


def _joined(run: RunFiles, images: Iterable[Image], places: NodeLocations) -> tuple[Profile, Joining]:
    """The profile of some files, and what is left over of them or wrong with them."""
    from ticktree.run.reading.joining import Joining

    joining = Joining(run.id, places)
    for image in images:
        joining.add(image)
    return joining.profile(is_whole=False), joining


def _has_its_place(run: RunFiles, image: Image, places: NodeLocations) -> bool:
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
    except OSError:  # another process folds
        return 0


def _finished(run: RunFiles, files: Sequence[Path]) -> list[Path]:
    """Those of `files` whose processes have ended, as far as is visible from here."""
    dead = dead_among(run.manifest.owner, {writer_of(file) for file in files})
    return [file for file in files if writer_of(file) in dead]


def _delete(run: RunFiles, files: Collection[Path]) -> None:
    """Deletes memory files: most lie on tmpfs, where no other user may rename, some in the run's folder."""
    on_disk = [file.name for file in files if file.parent == run.path]
    if on_disk:
        run.remove(on_disk)
    for file in files:
        if file.parent != run.path:
            file.unlink(missing_ok=True)


@contextmanager
def _lock(memory: Path) -> Iterator[bool]:
    """Whether no other process folds this run; does not wait for one that does."""
    try:
        fd = open_lock(memory)
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
