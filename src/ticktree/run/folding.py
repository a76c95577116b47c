"""Folding: memory files whose processes have ended become part of the run on disk, and their memory is freed.

Any process may fold, and be killed while it does: it replaces `folded.json` atomically, only then deletes the
files that it names, and the next folding process deletes the remaining ones. A lock excludes other folding processes;
readers do not need it (`read_records` in folded.py).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.files.owner import ended_processes
from ticktree.run.directory import RunFiles
from ticktree.run.free_memory import require_free_memory
from ticktree.run.memory import memory_files, open_lock, size_of, writer_of
from ticktree.run.naming import FOLDED

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.folded import RunRecords
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.joining import Joiner
    from ticktree.run.reading.tree import NodeLocations

# Fewer files are not folded: reading them takes less time than folding does.
MANY_FILES = 64
MANY_BYTES = 16 << 20


def fold_if_many(run: RunFiles) -> int:
    """Fold a run's finished files if they are many or large; otherwise only list the directory.

    Returns:
        The number of folded files.

    Raises:
        TicktreeError: The records cannot be read; no file has changed.
        OSError: The folded part cannot be written; no file has changed.
    """
    files = memory_files(run.memory_dir)
    if not _are_many(files) or not _are_many(_find_finished(run, files)):
        return 0
    return fold_finished(run)


def fold_finished(run: RunFiles) -> int:
    """Fold the files of all processes of a run that have ended, unless another process is folding."""
    with _lock(run.memory_dir) as is_locked:
        return _fold(run) if is_locked else 0


def _fold(run: RunFiles) -> int:
    require_free_memory()
    from ticktree.profile import Profile  # slow imports
    from ticktree.run.folded import read_records
    from ticktree.run.timeline import keep_timeline

    ended = set(_find_finished(run, run.memory_files()))
    records = read_records(run)
    if run.path / FOLDED in records.errors:
        # Replacing it would silently lose its records.
        raise records.errors[run.path / FOLDED]
    _delete(run, [path for path in run.memory_files() if path.name in records.folded.files])
    # Processes that ended before they began to record have left empty files.
    _delete(run, [path for path in records.empty_paths if path in ended])
    ready, locations = _find_ready(run, records, ended)
    profile, joiner = _join(run, ready.values(), locations)
    if joiner.errors:
        # Damaged files stay; reading the run reports them.
        for path, image in ready.items():
            if _join(run, [image], locations)[1].errors:
                del records.images[path]
        ready, locations = _find_ready(run, records, ended)
        profile, joiner = _join(run, ready.values(), locations)
    if not ready:
        return 0
    profile += Profile(losses=keep_timeline(run, only=set(ready)))
    files = {path.name: image.writer for path, image in ready.items()}
    folded = records.folded.merge(profile, joiner.wakes, files, locations)
    run.write(FOLDED, folded.to_text().encode(), durable=True)
    _delete(run, ready)
    if run.is_finished():  # it was finished meanwhile, with all records
        run.remove([FOLDED])
    return len(ready)


def _find_ready(
    run: RunFiles, records: RunRecords, ended: set[Path]
) -> tuple[dict[Path, Image], NodeLocations]:
    """Return the files of ended processes with a settled place in the tree, and the locations of all settled nodes."""
    from ticktree.run.reading.image import DamagedError
    from ticktree.run.reading.tree import NodeLocations, parents_first

    locations = NodeLocations(records.folded.locations)
    ready = {}
    for path, image in parents_first(records.images):
        if _is_settled(run, image, locations):
            with suppress(DamagedError):
                locations.add(image)
                ready[path] = image
    return {path: image for path, image in ready.items() if path in ended}, locations


def _join(run: RunFiles, images: Iterable[Image], locations: NodeLocations) -> tuple[Profile, Joiner]:
    """Return the profile of some files, and the `Joiner` with their leftovers and errors."""
    from ticktree.run.reading.joining import Joiner

    joiner = Joiner(run.id, locations)
    return joiner.join(images, is_complete=False), joiner


def _is_settled(run: RunFiles, image: Image, locations: NodeLocations) -> bool:
    """Return whether a process's place in the tree is settled: its parent is known, or will never be.

    A live parent that records in private memory may still save its own file; a parent whose file exists but is not
    in `locations` could not be read.
    """
    if not image.parent.pid or image.parent in locations:
        return True
    owner, parent = run.manifest.owner, image.parent[:2]
    if run.manifest.supervised and parent == (owner.pid, owner.started):
        return True  # a supervisor records nothing
    return bool(ended_processes(owner, [parent])) and parent not in map(writer_of, run.memory_files())


def _are_many(files: list[Path]) -> bool:
    return len(files) > MANY_FILES or sum(map(size_of, files)) > MANY_BYTES


def _find_finished(run: RunFiles, files: Sequence[Path]) -> list[Path]:
    """Return those of `files` whose processes have ended, as far as this process can see."""
    dead = ended_processes(run.manifest.owner, {writer_of(file) for file in files})
    return [file for file in files if writer_of(file) in dead]


def _delete(run: RunFiles, files: Collection[Path]) -> None:
    """Delete memory files: most are on tmpfs, where no other user may rename, some in the run's directory."""
    on_disk = [file.name for file in files if file.parent == run.path]
    if on_disk:
        run.remove(on_disk)
    for file in files:
        if file.parent != run.path:
            file.unlink(missing_ok=True)


@contextmanager
def _lock(memory_dir: Path) -> Iterator[bool]:
    """Yield whether this process holds the run's folding lock; do not wait for it."""
    try:
        fd = open_lock(memory_dir)
    except OSError:  # the memory was removed, or there is no space for one more name
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
        # Unlock explicitly: a child forked meanwhile has the descriptor too.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)
