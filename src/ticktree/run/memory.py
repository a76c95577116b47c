"""The memory directory of a run: its memory files, on tmpfs, private to one user.

    /dev/shm/ticktree-UID/RUN-ID/
        run.json                 the facts of the run (manifest.py), for processes that find only this directory
        owner-...                the process that created it, in case there is no space for run.json (owner.py)
        homeless-...             the time since which the run's own directory is missing (abandoned.py)
        folding.lock             held by the process that folds finished files (folding.py)
        rank-NUMBER.json         the job of a process (fleet/store.py)
        machine.json             readings of the machine by the supervisor (observed.py)
        samples.json             stack samples by the supervisor (observed.py)
        PID-STARTED.tt           one file per process, written by the recorder
        experiments.ttx          what `ticktree whatif` makes faster now (experiments/ledger.h)
        channels.ttc             signals between processes (critical_path/channel.h)

Not on a disk, because the kernel write-protects dirty pages of disk files when it writes them back, and the
next store to such a page stalls the measured program. tmpfs is memory: files here must be removed.

If another user has created `ticktree-UID` first, the name is `ticktree-UID-` and eight random digits instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ticktree.errors import TicktreeError
from ticktree.files.owner import Owner
from ticktree.files.trust import require_base, require_private
from ticktree.run.manifest import MANIFEST_NAME
from ticktree.run.naming import MACHINE, RANK, SAMPLES

LOCK_NAME = "folding.lock"
# As text: few of the processes that import this module match any file.
_FILE_NAME = r"(\d+)-(\d+)(?:-\d+)?\.tt"
_OWNER_NAME = r"owner-(\d+)-(\d+)-(\d+)-([0-9a-f-]*)"
# Seconds since the machine's boot, and the boot's id.
_HOMELESS_NAME = r"homeless-(\d+)-([0-9a-f-]*)"
# Signals between processes; with a number: a table whose process died while it created the table.
_CHANNELS = r"channels\.ttc(\.\d+)?|experiments\.ttx"
# Stacks from a process that samples itself.
_RING = r"\d+-\d+-\d+\.ring"
_OTHER_FILES = (
    rf"{_HOMELESS_NAME}|{LOCK_NAME}|{_CHANNELS}|owner-[0-9a-f-]+|{re.escape(MACHINE)}|{re.escape(SAMPLES)}|{RANK}"
    rf"|{_RING}|\.({re.escape(MANIFEST_NAME)}|{re.escape(MACHINE)}|{re.escape(SAMPLES)}|{RANK})\.\d+\.tmp"
)
_REMOVED_SUFFIX = ".finished"
_SHARED = Path("/dev/shm")


def create_memory(run_id: str) -> Path:
    """Create the memory directory of a new run, in the first of `memory_bases` that allows it."""
    failures: list[TicktreeError] = []
    for base in memory_bases():
        try:
            require_base(base)
            return _make(_private_root(base), run_id)
        except OSError as error:
            failures.append(TicktreeError(f"no place for memory files in {base}: {error.strerror}"))
        except TicktreeError as error:
            failures.append(error)
    raise failures[0]


def _private_root(base: Path) -> Path:
    """Return this user's directory in a base; create it if necessary.

    Another user may have created a directory in our name, to stop us: then ours has an unpredictable name.
    """
    root = default_root(base)
    with suppress(FileExistsError):
        root.mkdir(mode=0o700)
    if is_private(root):
        return root
    for existing in _roots(base):
        return existing
    root = root.with_name(f"{root.name}-{os.urandom(4).hex()}")
    root.mkdir(mode=0o700)
    return root


def _make(root: Path, run_id: str) -> Path:
    directory = root / run_id
    directory.mkdir(mode=0o700)
    try:
        _mark_owner(directory, Owner.current())
    except OSError:  # there was space only for a directory
        directory.rmdir()
        raise
    return directory


def default_root(base: Path) -> Path:
    """Return this user's directory in a base, unless another user has created one with that name."""
    return base / f"ticktree-{os.geteuid()}"


def explain_other_root(directory: Path) -> str | None:
    """Return why a memory directory is not in the usual one of its base; None if it is."""
    usual = default_root(directory.parent.parent)
    if directory.parent == usual:
        return None
    return f"{usual} is not a directory that only this user can enter; memory files go to {directory.parent}"


def require_memory(directory: Path) -> None:
    """Raise unless a directory is this user's memory directory."""
    require_base(directory.parent.parent)
    if not _is_root_name(directory.parent.name):
        raise TicktreeError(f"{directory} is not a place of this user's memory files")
    require_private(directory.parent)
    require_private(directory)


def _is_root_name(name: str) -> bool:
    return bool(re.fullmatch(rf"ticktree-{os.geteuid()}(-[0-9a-f]{{8}})?", name))


def _roots(base: Path) -> Iterator[Path]:
    """Yield the private directories of this user in a base."""
    try:
        names = sorted(filter(_is_root_name, os.listdir(base)))  # noqa: PTH208 - /tmp may hold a hundred thousand
    except OSError:
        return
    yield from filter(is_private, (base / name for name in names))


def is_private(root: Path) -> bool:
    """Return whether a directory is this user's, and no other user may enter it."""
    try:
        require_private(root)
    except (OSError, TicktreeError):
        return False
    return True


def memory_files(directory: Path) -> list[Path]:
    """Return the memory files in a run's memory directory, in the order of their names."""
    try:
        return sorted(path for path, _ in _find_files(directory, _FILE_NAME))
    except FileNotFoundError:
        return []


def size_of(file: Path) -> int:
    """Return the size of a memory file in bytes; 0 if it has just been folded."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def open_lock(directory: Path) -> int:
    """Open the file that a folding process locks; create it if necessary. The caller closes the descriptor."""
    return os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


class ProcessKey(NamedTuple):
    """One program that one process runs: the writer of a memory file.

    Attributes:
        start: When the process was started, as in `Owner.started`.
        incarnation: The number of the program among those that the process has run, from 1.
    """

    pid: int
    start: int
    incarnation: int

    def __str__(self) -> str:
        """Return the name of the memory file without its suffix, which is also the process's id in profiles."""
        suffix = f"-{self.incarnation}" if self.incarnation > 1 else ""
        return f"{self.pid}-{self.start}{suffix}"


def process_key(file: Path) -> ProcessKey:
    """Return the process that writes a memory file, by the file's name."""
    pid, start, *incarnation = map(int, file.stem.split("-"))
    return ProcessKey(pid, start, *incarnation or (1,))


def writer_of(file: Path) -> tuple[int, int]:
    """Return the pid and start (as `Owner.started`) of the process that writes a memory file."""
    match = re.fullmatch(_FILE_NAME, file.name)
    if match is None:
        raise TicktreeError(f"{file.name} is not the name of a memory file")
    return int(match[1]), int(match[2])


def owner_of(directory: Path) -> Owner | None:
    """Return the process that created a memory directory, by the mark in it; None without a mark."""
    for _, match in _find_files(directory, _OWNER_NAME):
        return Owner(int(match[1]), int(match[2]), match[4], int(match[3]))
    return None


def remove_memory(directory: Path) -> None:
    """Free a run's memory.

    It is first renamed, atomically: a reader of its files can detect afterwards that some may have been missing. Only
    known files are deleted: a damaged `run.json` must not make us delete other files.
    """
    if not is_being_removed(directory):
        try:
            directory = directory.rename(directory.with_name(directory.name + _REMOVED_SUFFIX))
        except FileNotFoundError:  # another process finished the run at the same time
            return
    with suppress(FileNotFoundError):
        paths = [path for path, _ in _find_files(directory, rf"{_FILE_NAME}|{_OTHER_FILES}")]
        # run.json last: it identifies the run until the end.
        for path in [*paths, directory / MANIFEST_NAME]:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        directory.rmdir()


def all_memory() -> Iterator[Path]:
    """Yield every memory directory of this user on this machine, and partly removed ones (`is_being_removed`)."""
    for base in {*memory_bases(), _SHARED, _temporary_directory()}:
        for root in _roots(base):
            with suppress(OSError):
                yield from sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())


def is_being_removed(directory: Path) -> bool:
    """Return whether a memory directory belongs to a finished run and was being removed."""
    return directory.name.endswith(_REMOVED_SUFFIX)


def memory_bases() -> Iterator[Path]:
    """Yield the bases of memory directories: TICKTREE_MEMORY_DIR, else /dev/shm, else the temporary directory."""
    requested = os.environ.get("TICKTREE_MEMORY_DIR")
    if requested:
        yield Path(requested).absolute()
        return
    if os.access(_SHARED, os.W_OK | os.X_OK):
        yield _SHARED
    yield _temporary_directory()


def homeless_since(directory: Path) -> tuple[int, str] | None:
    """Return when a directory was marked as without its run: seconds since a boot, and its id; None if not marked."""
    for _, match in _find_files(directory, _HOMELESS_NAME):
        return int(match[1]), match[2]
    return None


def mark_homeless(directory: Path, uptime_s: int, boot: str) -> None:
    """Mark a directory as without its run by a file name, for which even a full tmpfs has space."""
    for path, _ in [*_find_files(directory, _HOMELESS_NAME)]:
        path.unlink(missing_ok=True)
    (directory / f"homeless-{uptime_s}-{boot}").touch()


def _find_files(directory: Path, pattern: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield the files in a directory whose whole names match a pattern, with the match."""
    for path in directory.iterdir():
        match = re.fullmatch(pattern, path.name)
        if match:
            yield path, match


def _temporary_directory() -> Path:
    import tempfile  # slow to import, and rarely needed

    return Path(tempfile.gettempdir())


def _mark_owner(directory: Path, owner: Owner) -> None:
    """Record the creator of a directory in a file name, for which even a full tmpfs has space."""
    name = f"owner-{owner.pid}-{owner.started}-{owner.namespace}-{owner.boot_id}"
    os.close(os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
