"""Writing a file so that a reader finds the old text or the new one, and a crash leaves no half of either."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(
    path: Path, data: bytes, *, durable: bool = False, follow: bool = True, dir_fd: int | None = None
) -> None:
    """Write `data` to `path` through a temporary file in the same directory.

    A path that exists and is no ordinary file (a pipe, /dev/stdout) is written to as it stands: replacing it
    would take it from everybody else.

    Args:
        path: Where.
        data: What.
        durable: Wait for the disk, so that one of the two texts also survives the machine's crash.
        follow: Whether a link is followed, and what it leads to written; else the link itself is replaced.
        dir_fd: The directory that `path` is a name in, as a descriptor; for `follow=False` only.

    Raises:
        OSError: The directory or the disk does not allow it; the old file is as it was.
    """
    if follow and path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve() if follow else path
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _new_file(temporary, dir_fd) as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=dir_fd)
        raise


def _new_file(path: Path, dir_fd: int | None) -> BinaryIO:
    """A new file: one that exists already was left by a killed process with our pid, or is a trap."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o666, dir_fd=dir_fd), "wb")
    except FileExistsError:
        os.unlink(path, dir_fd=dir_fd)
        return os.fdopen(os.open(path, flags, 0o666, dir_fd=dir_fd), "wb")
