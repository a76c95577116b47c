"""Finishing what others left: runs whose processes all died before one of them could finish it.

They are found by their memory, not by their directories: wherever a run is kept, what it recorded occupies
this machine's memory until somebody saves it.
"""

from __future__ import annotations

import time
from pathlib import Path

from ticktree.run.directory import RunDirectory
from ticktree.run.manifest import MANIFEST_NAME, Manifest
from ticktree.run.memory import HOMELESS_NAME, all_memory, memory_files, remove_memory, writer_of

# The directory of a run may have been moved, or be on a disk that is not mounted at the moment.
_KEPT_WITHOUT_RUN_S = 24 * 3600.0


def finish_abandoned() -> list[RunDirectory]:
    """Finish every run of this user on this machine that nobody writes to any more.

    Returns:
        The runs that were finished now. One that cannot be stays as it is, and says why when it is read.
    """
    finished = []
    for memory in all_memory():
        try:
            run = _finish(memory)
        except Exception:  # Whatever is wrong with it, it is not what our caller was asked about.
            continue
        if run is not None:
            finished.append(run)
    return finished


def _finish(memory: Path) -> RunDirectory | None:
    manifest = Manifest.from_json((memory / MANIFEST_NAME).read_text(encoding="utf-8"))
    path = Path(manifest.directory)
    if not (path / MANIFEST_NAME).exists():
        _remove_homeless(memory, manifest)
        return None
    run = RunDirectory.open(path)
    if run.memory_dir != memory or run.is_live():
        return None
    run.finish()
    return run


def _remove_homeless(memory: Path, manifest: Manifest) -> None:
    """Remove memory whose run's directory has been gone for a day."""
    writers = [manifest.owner, *(manifest.owner.beside(*writer_of(file)) for file in memory_files(memory))]
    if any(writer.is_alive() for writer in writers):
        return
    seen_before = memory / HOMELESS_NAME
    if not seen_before.exists():
        seen_before.touch()
    elif time.time() - seen_before.stat().st_mtime > _KEPT_WITHOUT_RUN_S:
        remove_memory(memory)
