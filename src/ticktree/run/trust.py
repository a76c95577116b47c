"""What is believed of a path that somebody named: an environment variable, or a file.

A profiled program writes where it is told to. Who could tell it, or put a link in the way, would make it write or
read for him; so nothing is written to a place before it was seen that only this user could have made it so.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ticktree.errors import TicktreeError

_MOST_LINKS = 40


def require_private(directory: Path) -> None:
    """Refuse a directory that others could have made or can enter: they would read and forge our files.

    Raises:
        OSError: There is none.
        TicktreeError: It is one that others can enter, a link, or not this user's.
    """
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise TicktreeError(
            f"{directory} is not a directory that only this user can enter; remove it and try again"
        )


def require_base(directory: Path) -> None:
    """Refuse a place for private directories in which others could put theirs in the place of ours.

    Raises:
        TicktreeError: It is not the system's or this user's own, or a link of somebody else leads there.
    """
    status = _status(_without_links(directory))
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise TicktreeError(f"no place for memory files in {directory}: there is no such directory")
    if status.st_uid not in (0, os.geteuid()):
        raise TicktreeError(f"{directory} belongs to another user; nothing is kept there")
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise TicktreeError(f"{directory} can be changed by every user; nothing is kept there")


def require_own(path: Path) -> None:
    """Refuse a file or directory that somebody else made, or to which a link of somebody else leads.

    Raises:
        TicktreeError: It says why. What does not exist is nobody's, and refused by who needs it.
    """
    status = _status(_without_links(path))
    if status is not None and status.st_uid != os.geteuid():
        raise TicktreeError(f"{path} belongs to another user; nothing is recorded there")


def is_writable_by_all(path: Path) -> bool:
    """Whether every user may change it; so it seems of everything on file systems that know no users."""
    status = _status(path)
    return status is not None and bool(status.st_mode & stat.S_IWOTH)


def _without_links(path: Path) -> Path:
    """Where a path leads; every link on the way must be the system's or this user's own."""
    done, links = Path("/"), 0
    rest = list(reversed(path.absolute().parts[1:]))
    while rest:
        name = rest.pop()
        here = done.parent if name == ".." else done / name
        status = _status(here)
        if status is None or not stat.S_ISLNK(status.st_mode):
            done = here
            continue
        links += 1
        if status.st_uid not in (0, os.geteuid()):
            raise TicktreeError(f"{here} is a link of another user's; it is not followed")
        if links > _MOST_LINKS:
            raise TicktreeError(f"{path} leads through too many links")
        target = here.readlink()
        if target.is_absolute():
            done = Path("/")
        rest.extend(reversed([part for part in target.parts if part != "/"]))
    return done


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None
