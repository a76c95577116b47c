"""Where a run's memory files live: a directory of its own on tmpfs, private to one user.

    /dev/shm/ticktree-UID/RUN-ID/
        run.json                 what run this is (manifest.py), for whoever finds the directory without the
        run homeless                 since when the run's own directory is missing (abandoned.py)
        PID-STARTED.tt           one file a process, written by the recorder
        channels.ttc             signals between processes, left where all of them find them (core/channel.h)

Not on a disk, because the kernel write-protects dirty pages of disk files when it writes them back, and the
next store to such a page stalls the program that is being measured. tmpfs is memory: what lies here must be
removed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.run.manifest import MANIFEST_NAME

HOMELESS_NAME = "homeless"
_FILE_NAME = re.compile(r"(\d+)-(\d+)(?:-\d+)?\.tt")
_CHANNELS = re.compile(r"channels\.ttc(?:\.\d+)?")  # with a number: one that was being made when its process died
_FINISHED = ".finished"


def create_memory(run_id: str) -> Path:
    """Make the memory directory of a new run.

    Raises:
        TicktreeError: There is no place for it, or somebody else made one in our name.
    """
    root = memory_base() / f"ticktree-{os.geteuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        _require_private(root)
        directory = root / run_id
        directory.mkdir(mode=0o700)
    except OSError as error:
        raise TicktreeError(f"no place for memory files in {root}: {error.strerror}") from None
    return directory


def memory_files(directory: Path) -> list[Path]:
    """The memory files in a run's memory directory, in the order of their names."""
    try:
        return sorted(path for path in directory.iterdir() if _FILE_NAME.fullmatch(path.name))
    except FileNotFoundError:
        return []


def writer_of(file: Path) -> tuple[int, int]:
    """The pid and start (as `Owner.started`) of the process that writes a memory file."""
    match = _FILE_NAME.fullmatch(file.name)
    if match is None:
        raise TicktreeError(f"{file.name} is not the name of a memory file")
    return int(match[1]), int(match[2])


def remove_memory(directory: Path) -> None:
    """Give a run's memory back.

    It is moved aside first, in one step: who was reading its files can see afterwards that some may have been
    missing. Only what belongs there is deleted: a damaged `run.json` must not make us delete other things.
    """
    aside = directory
    if not directory.name.endswith(_FINISHED):
        aside = directory.rename(directory.with_name(directory.name + _FINISHED))
    channels = [path for path in aside.iterdir() if _CHANNELS.fullmatch(path.name)]
    for path in [*memory_files(aside), *channels, aside / MANIFEST_NAME, aside / HOMELESS_NAME]:
        path.unlink(missing_ok=True)
    with suppress(OSError):
        aside.rmdir()


def all_memory() -> Iterator[Path]:
    """Every memory directory of this user on this machine; those half removed are removed on the way."""
    for base in {memory_base(), Path("/dev/shm"), _temporary()}:
        root = base / f"ticktree-{os.geteuid()}"
        try:
            _require_private(root)
            found = sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())
        except (OSError, TicktreeError):
            continue
        for directory in found:
            if directory.name.endswith(_FINISHED):
                remove_memory(directory)
            else:
                yield directory


def memory_base() -> Path:
    """Where memory directories are made: TICKTREE_MEMORY_DIR, else /dev/shm, else among temporary files."""
    named = os.environ.get("TICKTREE_MEMORY_DIR")
    if named:
        return Path(named).absolute()
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK | os.X_OK) else _temporary()


def _temporary() -> Path:
    import tempfile  # Slow to import, and hardly ever wanted.

    return Path(tempfile.gettempdir())


def _require_private(root: Path) -> None:
    """Refuse a directory that others could have made or can write to: they would read and forge our files."""
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise TicktreeError(
            f"{root} is not a directory that only this user can enter; remove it and try again"
        )
