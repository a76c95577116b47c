"""Finish abandoned runs: those whose processes all died before one of them could finish the run.

They are found by their memory, not by their directories: wherever a run's directory is, its records occupy
this machine's memory until they are saved. Memory that a living process may still own stays, and so does
memory of another user, or of processes that this process cannot see (containers that share a tmpfs).
"""

from __future__ import annotations

import time
from pathlib import Path

from ticktree.files.owner import Owner, boot_id, ended_processes, uptime_s
from ticktree.files.trust import require_own
from ticktree.run.directory import read_manifest, remove_unmade
from ticktree.run.finishing import RunDirectory
from ticktree.run.manifest import MANIFEST_NAME
from ticktree.run.memory import (
    all_memory,
    homeless_since,
    is_being_removed,
    mark_homeless,
    memory_files,
    owner_of,
    remove_memory,
    writer_of,
)

# The directory of a run may have been moved, or be on a disk that is not mounted at the moment.
_HOMELESS_LIMIT_S = 24 * 3600.0
# Creating a memory directory takes a millisecond; an empty directory may have been created just now.
_CREATION_LIMIT_S = 3600.0


def finish_abandoned(within_s: float = 3600.0) -> list[RunDirectory]:
    """Finish every run of this user on this machine that no process writes to any more, and remove unused memory.

    Args:
        within_s: Do not begin another run after this many seconds: an ending program must not be delayed.

    Returns:
        The runs that were finished now. A run that cannot be finished stays as it is; reading it reports why.
    """
    deadline_s = time.monotonic() + within_s
    finished = []
    for memory in all_memory():
        if time.monotonic() > deadline_s:
            break
        try:
            run = _finish(memory)
        except Exception:  # a damaged run must not fail the caller's command
            continue
        if run is not None:
            finished.append(run)
    return finished


def _finish(memory: Path) -> RunDirectory | None:
    if is_being_removed(memory):
        _remove_remains(memory)
        return None
    if not (memory / MANIFEST_NAME).exists():
        _sweep_without_manifest(memory)
        return None
    manifest = read_manifest(memory)
    path = Path(manifest.directory)
    if not (path / MANIFEST_NAME).exists():
        if _has_no_writer(memory, manifest.owner):
            _sweep_without_run(memory, path)
        return None
    require_own(path)
    run = RunDirectory.open(path)
    if run.memory_dir != memory or run.is_live():
        return None
    run.finish()
    return run


def _remove_remains(memory: Path) -> None:
    """Remove the remains of a run whose finishing process was killed."""
    try:
        manifest = read_manifest(memory)
        run = RunDirectory.open(Path(manifest.directory))
        if run.id == manifest.id:
            run.tidy()
    finally:
        remove_memory(memory)


def _sweep_without_manifest(memory: Path) -> None:
    """Remove memory without a manifest: its creator was killed immediately, or there was no space."""
    owner = owner_of(memory)
    if owner is None:
        # It contains at most files of other programs; rmdir removes it only if it is empty.
        if time.time() - memory.stat().st_mtime > _CREATION_LIMIT_S:
            memory.rmdir()
    elif _has_no_writer(memory, owner):
        if memory_files(memory):  # the run.json in its run's directory may still lead here
            _sweep_homeless(memory)
        else:
            remove_memory(memory)


def _sweep_without_run(memory: Path, path: Path) -> None:
    if path.is_dir() and not memory_files(memory) and remove_unmade(path):  # its creator was killed meanwhile
        remove_memory(memory)
    else:
        _sweep_homeless(memory)


def _has_no_writer(memory: Path, owner: Owner) -> bool:
    writers = {(owner.pid, owner.started), *map(writer_of, memory_files(memory))}
    return ended_processes(owner, writers) == writers


def _sweep_homeless(memory: Path) -> None:
    """Remove memory whose run's directory has been missing for a day.

    A day of the machine's uptime: the wall clock may be set, and tmpfs is empty after a restart anyway.
    """
    now_s, boot = uptime_s(), boot_id()
    since = homeless_since(memory)
    if since is None or since[1] != boot:
        mark_homeless(memory, int(now_s), boot)
    elif now_s - since[0] > _HOMELESS_LIMIT_S:
        remove_memory(memory)
