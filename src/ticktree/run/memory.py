"""Where a run's memory files live: an own directory on tmpfs, private to one user.

    /dev/shm/ticktree-UID/RUN-ID/
        run.json                 what run this is (manifest.py), if the directory is found without the run
        owner-...                which process made it, should there be no room for run.json (owner.py)
        homeless-...             since when the run's own directory is missing (abandoned.py)
        folding.lock             held by the process that folds finished files (folding.py)
        rank-NUMBER.json         of which job a process is (fleet/store_slots.py)
        machine.json             what the machine did, as its supervisor reads it (readings.py)
        samples.json             which code ran, as its supervisor saw it from outside (sampled.py)
        PID-STARTED.tt           one file per process, written by the recorder
        experiments.ttx          what `ticktree whatif` makes faster now (experiments/ledger.h)
        channels.ttc             signals between processes, left where all of them find them (critical_path/channel.h)

Not on a disk, because the kernel write-protects dirty pages of disk files when it writes them back, and the
next store to such a page stalls the program that is being measured. tmpfs is memory: what lies here must be
removed.

Where another user has made `ticktree-UID` first, it is `ticktree-UID-` and eight random digits instead.
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
# As text: few of the processes that import this look at any file.
_FILE_NAME = r"(\d+)-(\d+)(?:-\d+)?\.tt"
_OWNER_NAME = r"owner-(\d+)-(\d+)-(\d+)-([0-9a-f-]*)"
# Signals between processes; with a number: a table that was being made when its process died.
# Since when: so long after the machine's boot, and which boot.
_HOMELESS_NAME = r"homeless-(\d+)-([0-9a-f-]*)"
_CHANNELS = r"channels\.ttc(\.\d+)?|experiments\.ttx"
# Stacks from a process that samples itself.
_RING = r"\d+-\d+-\d+\.ring"
_OURS = (
    rf"{_HOMELESS_NAME}|{LOCK_NAME}|{_CHANNELS}|owner-[0-9a-f-]+|{re.escape(MACHINE)}|{re.escape(SAMPLES)}|{RANK}"
    rf"|{_RING}|\.({re.escape(MANIFEST_NAME)}|{re.escape(MACHINE)}|{re.escape(SAMPLES)}|{RANK})\.\d+\.tmp"
)
_FINISHED = ".finished"
_SHARED = Path("/dev/shm")


def create_memory(run_id: str) -> Path:
    """Make the memory directory of a new run: in the first of `memory_bases` that takes it.

    Raises:
        TicktreeError: There is no place for it.
    """
    failures: list[TicktreeError] = []
    for base in memory_bases():
        try:
            require_base(base)
            return _made(_private_root(base), run_id)
        except OSError as error:
            failures.append(TicktreeError(f"no place for memory files in {base}: {error.strerror}"))
        except TicktreeError as error:
            failures.append(error)
    raise failures[0]


def _private_root(base: Path) -> Path:
    """Makes this user's directory in a base, unless it is there.

    Another user may have made one in our name, to stop us: then it has a name that could not be foreseen.
    """
    root = usual_root(base)
    with suppress(FileExistsError):
        root.mkdir(mode=0o700)
    if is_private(root):
        return root
    for other in _roots(base):
        return other
    root = root.with_name(f"{root.name}-{os.urandom(4).hex()}")
    root.mkdir(mode=0o700)
    return root


def _made(root: Path, run_id: str) -> Path:
    directory = root / run_id
    directory.mkdir(mode=0o700)
    try:
        _mark(directory, Owner.current())
    except OSError:  # room for no more than a directory
        directory.rmdir()
        raise
    return directory


def usual_root(base: Path) -> Path:
    """This user's directory in a base, where no other user has made one of that name."""
    return base / f"ticktree-{os.geteuid()}"


def other_root(directory: Path) -> str | None:
    """Why a memory directory does not lie in the usual one of its base; None where it does."""
    usual = usual_root(directory.parent.parent)
    if directory.parent == usual:
        return None
    return f"{usual} is not a directory that only this user can enter; memory files go to {directory.parent}"


def require_memory(directory: Path) -> None:
    """Refuse a named directory of memory files that is not one of ours.

    Raises:
        TicktreeError: It says why.
    """
    require_base(directory.parent.parent)
    if not _is_root_name(directory.parent.name):
        raise TicktreeError(f"{directory} is not a place of this user's memory files")
    require_private(directory.parent)
    require_private(directory)


def _is_root_name(name: str) -> bool:
    return bool(re.fullmatch(rf"ticktree-{os.geteuid()}(-[0-9a-f]{{8}})?", name))


def _roots(base: Path) -> Iterator[Path]:
    """The directories of this user, and of no other, in a base."""
    try:
        names = sorted(filter(_is_root_name, os.listdir(base)))  # noqa: PTH208 - /tmp may hold a hundred thousand
    except OSError:
        return
    yield from filter(is_private, (base / name for name in names))


def is_private(root: Path) -> bool:
    """Whether a directory is this user's, and no other user may enter it."""
    try:
        require_private(root)
    except (OSError, TicktreeError):
        return False
    return True


def memory_files(directory: Path) -> list[Path]:
    """The memory files in a run's memory directory, in the order of their names."""
    try:
        return sorted(path for path in directory.iterdir() if re.fullmatch(_FILE_NAME, path.name))
    except FileNotFoundError:
        return []


def open_lock(directory: Path) -> int:
    """Open the file that a folding process locks, and make it if needed; the caller closes the descriptor.

    Raises:
        OSError: There is no memory to fold any more, or no room for one more name.
    """
    return os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


class ProcessKey(NamedTuple):
    """One program that one process runs: what a memory file is written by.

    Attributes:
        pid: The process.
        start: When it was started, as in `Owner.started`.
        incarnation: Which of the programs that it has run, from 1.
    """

    pid: int
    start: int
    incarnation: int

    def __str__(self) -> str:
        """As memory files are named, and processes in profiles."""
        again = f"-{self.incarnation}" if self.incarnation > 1 else ""
        return f"{self.pid}-{self.start}{again}"


def process_of(file: Path) -> ProcessKey:
    """The process that writes a memory file, by the file's name."""
    pid, start, *again = map(int, file.stem.split("-"))
    return ProcessKey(pid, start, *again or (1,))


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

    It is moved aside first, in one step: a reader of its files can see afterwards that some may have been
    missing. Only what belongs there is deleted: a damaged `run.json` must not make us delete other things.
    """
    aside = directory
    if not is_aside(directory):
        try:
            aside = directory.rename(directory.with_name(directory.name + _FINISHED))
        except FileNotFoundError:  # another process finished the run at the same time
            return
    with suppress(FileNotFoundError):
        # run.json last: while it is there, it can be found out what this was.
        for path in [*filter(_belongs, list(aside.iterdir())), aside / MANIFEST_NAME]:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        aside.rmdir()


def all_memory() -> Iterator[Path]:
    """Every memory directory of this user on this machine; also those half removed, which `is_aside` tells."""
    for base in {*memory_bases(), _SHARED, _temporary()}:
        for root in _roots(base):
            with suppress(OSError):
                yield from sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())


def is_aside(directory: Path) -> bool:
    """Whether a memory directory is that of a finished run, and was to be removed."""
    return directory.name.endswith(_FINISHED)


def memory_bases() -> Iterator[Path]:
    """Where memory directories are made: TICKTREE_MEMORY_DIR, else /dev/shm, or else among temporary files."""
    named = os.environ.get("TICKTREE_MEMORY_DIR")
    if named:
        yield Path(named).absolute()
        return
    if os.access(_SHARED, os.W_OK | os.X_OK):
        yield _SHARED
    yield _temporary()


def homeless_since(directory: Path) -> tuple[int, str] | None:
    """When a directory was found to be without its run: seconds after a boot, and the boot's id; None for never."""
    for path in directory.iterdir():
        match = re.fullmatch(_HOMELESS_NAME, path.name)
        if match:
            return int(match[1]), match[2]
    return None


def mark_homeless(directory: Path, since_boot_s: int, boot: str) -> None:
    """Notes that a directory is without its run, in a name: there is room for that even on a full tmpfs."""
    for path in directory.iterdir():
        if re.fullmatch(_HOMELESS_NAME, path.name):
            path.unlink(missing_ok=True)
    (directory / f"homeless-{since_boot_s}-{boot}").touch()


def _temporary() -> Path:
    import tempfile  # Slow to import, and hardly ever wanted.

    return Path(tempfile.gettempdir())


def _mark(directory: Path, owner: Owner) -> None:
    """Records the maker of a directory in a file name, for which there is room even on a full tmpfs."""
    name = f"owner-{owner.pid}-{owner.started}-{owner.namespace}-{owner.boot_id}"
    os.close(os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _belongs(path: Path) -> bool:
    return bool(re.fullmatch(_FILE_NAME, path.name) or re.fullmatch(_OURS, path.name))
