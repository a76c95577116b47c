"""What is trusted about a path that an environment variable or a file names.

A profiled program writes to the configured place. An attacker who could set that, or put a link in the way,
could make it write or read for him; so nothing is written to a place before a check that only this user could
have made it.

A name may lead to another place a moment after the check. So what is written to, or deleted from, a directory
in which others may rename is reached by a descriptor of the checked directory (`own_directory`), not by its
name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ticktree.errors import TicktreeError

_MOST_LINKS = 40
# To pass through a directory takes no right to read it.
_PASS = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_READ = os.O_DIRECTORY | os.O_CLOEXEC | os.O_RDONLY | os.O_NOFOLLOW


class NotOwnError(TicktreeError):
    """Another user made a file, directory or link, or could have put it there."""


@contextmanager
def own_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Opens a directory of this user's, for what takes a `dir_fd`; no link of another user leads there.

    Raises:
        OSError: There is none.
        NotOwnError: Another user made it, or put a link in the way.
    """
    with any_directory(path, make=make) as fd:
        _require_owner(fd, path)
        yield fd


@contextmanager
def any_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """The same of a directory that may be another user's."""
    with _end_of(path, make=make) as (at, name):
        if make:
            _make(name, at)
        fd = os.open(name, _READ, dir_fd=at)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def own_folder(fd: int, name: str, path: Path, *, make: bool = False) -> Iterator[int]:
    """Opens a folder in a directory; it must be this user's own, and no link."""
    if make:
        _make(name, fd)
    folder = os.open(name, _READ, dir_fd=fd)
    try:
        _require_owner(folder, path / name)
        yield folder
    finally:
        os.close(folder)


def names_in(fd: int) -> list[str]:
    """The names of what is in a directory."""
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def require_private(directory: Path) -> None:
    """Refuse a directory that others could have made or can enter: they would read and forge our files.

    Raises:
        OSError: There is none.
        TicktreeError: It is one that others can enter, a link, or not this user's.
    """
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise NotOwnError(f"{directory} is not a directory that only this user can enter")


def require_base(directory: Path) -> None:
    """Refuse a place for private directories in which others could put theirs in the place of ours.

    Raises:
        TicktreeError: It is not the system's or this user's own, or another user's link leads there.
    """
    status = _status(directory)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise TicktreeError(f"no place for memory files in {directory}: there is no such directory")
    if status.st_uid not in (0, os.geteuid()):
        raise NotOwnError(f"{directory} belongs to another user; nothing is kept there")
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise NotOwnError(f"{directory} can be changed by every user; nothing is kept there")


def require_own(path: Path) -> None:
    """Refuse a file or directory that another user made, or to which another user's link leads.

    Raises:
        TicktreeError: It says why. What does not exist has no owner; the caller that needs it refuses it.
    """
    status = _status(path)
    if status is not None and status.st_uid != os.geteuid():
        raise _not_own(path)


def _status(path: Path) -> os.stat_result | None:
    """The status of what a path ends at, which is no link; None where there is nothing."""
    try:
        with _end_of(path) as (at, name):
            return os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return None


def is_writable_by_all(path: Path) -> bool:
    """Whether every user may change it; so it seems of everything on file systems that know no users."""
    try:
        return bool(path.lstat().st_mode & stat.S_IWOTH)
    except OSError:
        return False


@contextmanager
def _end_of(path: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The directory in which a path ends, as a descriptor, and the name there, which is no link.

    Every link on the way must be the system's or this user's own.
    """
    at, here, name, links = os.open("/", _PASS), Path("/"), ".", 0
    rest = list(reversed(path.absolute().parts[1:]))
    try:
        while rest:
            name = rest.pop()
            target = _target(name, at, here)
            if target is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise TicktreeError(f"{path} leads through too many links")
                rest.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))
                name = "."
            elif rest and make:
                _make(name, at)
            if target is not None and target.is_absolute():
                at, here = _passed("/", at), Path("/")
            elif target is None and rest:
                at, here = _passed(name, at), here / name
        yield at, name
    finally:
        os.close(at)


def _target(name: str, at: int, here: Path) -> Path | None:
    """Where the link of a name leads; None where there is no link."""
    try:
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if status.st_uid not in (0, os.geteuid()):
        raise NotOwnError(f"{here / name} is a link of another user's; it is not followed")
    target = os.readlink(name, dir_fd=at)
    again = os.stat(name, dir_fd=at, follow_symlinks=False)
    if (again.st_ino, again.st_ctime_ns) != (status.st_ino, status.st_ctime_ns):
        raise NotOwnError(f"{here / name} was replaced; it is not followed")
    return Path(target)


def _passed(name: str, at: int) -> int:
    """The next directory on the way in place of the last."""
    fd = os.open(name, _PASS | os.O_NOFOLLOW, dir_fd=at)
    os.close(at)
    return fd


def _make(name: str, at: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=at)


def _require_owner(fd: int, path: Path) -> None:
    if os.fstat(fd).st_uid != os.geteuid():
        raise _not_own(path)


def _not_own(path: Path) -> NotOwnError:
    return NotOwnError(f"{path} belongs to another user; nothing is recorded there")
