"""Where a run's memory files live: a directory of its own on tmpfs, private to one user.

    /dev/shm/ticktree-UID/RUN-ID/
        run.json                 what run this is (manifest.py), for whoever finds the directory without the
        owner-...                run: who made it, should there be no room for run.json (owner.py)
        homeless                 since when the run's own directory is missing (abandoned.py)
        folding.lock             held by who folds finished files (folding.py)
        rank-NUMBER.json         of which job a process is (courier/ranks.py)
        machine.json             what the machine did, as its supervisor reads it (machine/kept.py)
        PID-STARTED.tt           one file a process, written by the recorder
        channels.ttc             signals between processes, left where all of them find them (core/channel.h)

Not on a disk, because the kernel write-protects dirty pages of disk files when it writes them back, and the
next store to such a page stalls the program that is being measured. tmpfs is memory: what lies here must be
removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.run.manifest import MANIFEST_NAME
from ticktree.run.naming import MACHINE, RANK
from ticktree.run.owner import Owner
from ticktree.run.trust import require_base, require_private

HOMELESS_NAME = "homeless"
LOCK_NAME = "folding.lock"
# As text: few of the processes that import this look at any file.
_FILE_NAME = r"(\d+)-(\d+)(?:-\d+)?\.tt"
_OWNER_NAME = r"owner-(\d+)-(\d+)-(\d+)-([0-9a-f-]*)"
# Signals between processes; with a number: a table that was being made when its process died.
_CHANNELS = r"channels\.ttc(\.\d+)?"
_OURS = (
    rf"{HOMELESS_NAME}|{LOCK_NAME}|{_CHANNELS}|owner-[0-9a-f-]+|{re.escape(MACHINE)}|{RANK}"
    rf"|\.({re.escape(MANIFEST_NAME)}|{re.escape(MACHINE)}|{RANK})\.\d+\.tmp"
)
_FINISHED = ".finished"


def create_memory(run_id: str) -> Path:
    """Make the memory directory of a new run.

    Raises:
        TicktreeError: There is no place for it, or somebody else made one in our name.
    """
    base = memory_base()
    root = base / f"ticktree-{os.geteuid()}"
    require_base(base)
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        require_private(root)
        directory = root / run_id
        directory.mkdir(mode=0o700)
        _mark(directory, Owner.current())
    except OSError as error:
        raise TicktreeError(f"no place for memory files in {root}: {error.strerror}") from None
    return directory


def require_memory(directory: Path) -> None:
    """Refuse a directory of memory files, named by somebody, that is not one of ours.

    Raises:
        TicktreeError: It says why.
    """
    require_base(directory.parent.parent)
    if directory.parent.name != f"ticktree-{os.geteuid()}":
        raise TicktreeError(f"{directory} is not a place of this user's memory files")
    require_private(directory.parent)
    require_private(directory)


def memory_files(directory: Path) -> list[Path]:
    """The memory files in a run's memory directory, in the order of their names."""
    try:
        return sorted(path for path in directory.iterdir() if re.fullmatch(_FILE_NAME, path.name))
    except FileNotFoundError:
        return []


def writer_of(file: Path) -> tuple[int, int]:
    """The pid and start (as `Owner.started`) of the process that writes a memory file."""
    match = re.fullmatch(_FILE_NAME, file.name)
    if match is None:
        raise TicktreeError(f"{file.name} is not the name of a memory file")
    return int(match[1]), int(match[2])


def owner_of(directory: Path) -> Owner | None:
    """Who made a memory directory, as far as its own mark says."""
    for path in directory.iterdir():
        match = re.fullmatch(_OWNER_NAME, path.name)
        if match:
            return Owner(int(match[1]), int(match[2]), match[4], int(match[3]))
    return None


def remove_memory(directory: Path) -> None:
    """Give a run's memory back.

    It is moved aside first, in one step: who was reading its files can see afterwards that some may have been
    missing. Only what belongs there is deleted: a damaged `run.json` must not make us delete other things.
    """
    aside = directory
    if not is_aside(directory):
        try:
            aside = directory.rename(directory.with_name(directory.name + _FINISHED))
        except FileNotFoundError:  # somebody else finished the run at the same time
            return
    with suppress(FileNotFoundError):
        # run.json last: while it is there, it can be found out what this was.
        for path in [*filter(_belongs, list(aside.iterdir())), aside / MANIFEST_NAME]:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        aside.rmdir()


def all_memory() -> Iterator[Path]:
    """Every memory directory of this user on this machine; also those half removed, which `is_aside` tells."""
    for base in {memory_base(), Path("/dev/shm"), _temporary()}:
        root = base / f"ticktree-{os.geteuid()}"
        try:
            require_private(root)
            found = sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())
        except (OSError, TicktreeError):
            continue
        yield from found


def is_aside(directory: Path) -> bool:
    """Whether a memory directory is that of a finished run, and was to be removed."""
    return directory.name.endswith(_FINISHED)


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


def _mark(directory: Path, owner: Owner) -> None:
    """Says in a name, for which there is room even on a full tmpfs, who makes a directory."""
    name = f"owner-{owner.pid}-{owner.started}-{owner.namespace}-{owner.boot_id}"
    os.close(os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _belongs(path: Path) -> bool:
    return bool(re.fullmatch(_FILE_NAME, path.name) or re.fullmatch(_OURS, path.name))
