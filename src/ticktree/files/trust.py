"""Checks of paths that an environment variable or a file names.

A profiled program writes to the configured directory. An attacker who could set that, or put a link on the way, could
make it write or read for them; so it writes only after a check that only this user can have created the directory.

A name may lead elsewhere a moment after the check. So files in a directory where others may rename are written and
deleted by a descriptor of the checked directory (`open_own_directory`), not by its name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ticktree.errors import TicktreeError

_MAX_LINKS = 40
# Passing through a directory does not require permission to read it.
_PASS = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_READ = os.O_DIRECTORY | os.O_CLOEXEC | os.O_RDONLY | os.O_NOFOLLOW


class NotOwnError(TicktreeError):
    """Another user created a file, directory or link, or could have."""


@contextmanager
def open_own_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Open a directory of this user, for functions that take a `dir_fd`; no link of another user leads there.

    Raises:
        OSError: It does not exist.
        NotOwnError: Another user created it, or a link on the way.
    """
    with open_directory(path, make=make) as fd:
        _require_owner(fd, path)
        yield fd


@contextmanager
def open_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Open a directory that may be another user's; otherwise like `open_own_directory`."""
    with _open_parent(path, make=make) as (parent, name):
        if make:
            _make(name, parent)
        fd = os.open(name, _READ, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_own_folder(fd: int, name: str, path: Path, *, make: bool = False) -> Iterator[int]:
    """Open a folder in a directory; it must belong to this user, and not be a link."""
    if make:
        _make(name, fd)
    folder = os.open(name, _READ, dir_fd=fd)
    try:
        _require_owner(folder, path / name)
        yield folder
    finally:
        os.close(folder)


def list_names(fd: int) -> list[str]:
    """Return the names in a directory."""
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def require_private(directory: Path) -> None:
    """Refuse a directory that others could have created or can enter: they could read and forge our files.

    Raises:
        OSError: It does not exist.
        TicktreeError: Others can enter it, it is a link, or it is not this user's.
    """
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise NotOwnError(f"{directory} is not a directory that only this user can enter")


def require_base(directory: Path) -> None:
    """Refuse a directory for private directories in which others could replace ours.

    Raises:
        TicktreeError: It is neither the system's nor this user's, or another user's link leads there.
    """
    status = _status(directory)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise TicktreeError(f"no place for memory files in {directory}: there is no such directory")
    if status.st_uid not in (0, os.geteuid()):
        raise NotOwnError(f"{directory} belongs to another user; nothing is kept there")
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise NotOwnError(f"{directory} can be changed by every user; nothing is kept there")


def require_own(path: Path) -> None:
    """Refuse a file or directory that another user created, or to which another user's link leads.

    Raises:
        TicktreeError: It says why. A missing file has no owner; a caller that needs it must refuse it.
    """
    status = _status(path)
    if status is not None and status.st_uid != os.geteuid():
        raise _not_own(path)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file that a path leads to; None if there is none."""
    try:
        with _open_parent(path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


def is_writable_by_all(path: Path) -> bool:
    """Return whether every user may change a file; on file systems without users this is true for all files."""
    try:
        return bool(path.lstat().st_mode & stat.S_IWOTH)
    except OSError:
        return False


@contextmanager
def _open_parent(path: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the directory of the file that a path leads to, and return the file's name there, which is not a link.

    Every link on the way must be the system's or this user's own.
    """
    fd, folder, name, links = os.open("/", _PASS), Path("/"), ".", 0
    rest = list(reversed(path.absolute().parts[1:]))
    try:
        while rest:
            name = rest.pop()
            target = _link_target(name, fd, folder)
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise TicktreeError(f"{path} leads through too many links")
                rest.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))
                name = "."
            elif rest and make:
                _make(name, fd)
            if target is not None and target.is_absolute():
                fd, folder = _step_into("/", fd), Path("/")
            elif target is None and rest:
                fd, folder = _step_into(name, fd), folder / name
        yield fd, name
    finally:
        os.close(fd)


def _link_target(name: str, fd: int, folder: Path) -> Path | None:
    """Return the target of a link; None if the name is not a link."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if status.st_uid not in (0, os.geteuid()):
        raise NotOwnError(f"{folder / name} is a link of another user's; it is not followed")
    target = os.readlink(name, dir_fd=fd)
    new_status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    if (new_status.st_ino, new_status.st_ctime_ns) != (status.st_ino, status.st_ctime_ns):
        raise NotOwnError(f"{folder / name} was replaced; it is not followed")
    return Path(target)


def _step_into(name: str, fd: int) -> int:
    """Open the next directory on the way, and close the last one."""
    next_fd = os.open(name, _PASS | os.O_NOFOLLOW, dir_fd=fd)
    os.close(fd)
    return next_fd


def _make(name: str, fd: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=fd)


def _require_owner(fd: int, path: Path) -> None:
    if os.fstat(fd).st_uid != os.geteuid():
        raise _not_own(path)


def _not_own(path: Path) -> NotOwnError:
    return NotOwnError(f"{path} belongs to another user; nothing is recorded there")
