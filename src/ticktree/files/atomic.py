"""Atomic writes: a reader finds the old content or the new, and a crash leaves neither half written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(
    path: Path, data: bytes, *, durable: bool = False, follow: bool = True, dir_fd: int | None = None
) -> None:
    """Write `data` to `path` through a temporary file in the same directory.

    An existing path that is not a regular file (a pipe, /dev/stdout) is written to directly: replacing it would take
    it from everyone else.

    Args:
        path: The file.
        data: Its new content.
        durable: Wait for the disk, so that the old or new content also survives a crash of the machine.
        follow: Follow a symbolic link and write its target; else replace the link itself.
        dir_fd: A descriptor of the directory that `path` is a name in; for `follow=False` only.

    Raises:
        OSError: The directory or the disk does not allow it; the old file is unchanged.
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
    """Create a file; an existing one was left by a killed process with our pid, or is a trap."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o666, dir_fd=dir_fd)
    except FileExistsError:
        os.unlink(path, dir_fd=dir_fd)
        fd = os.open(path, flags, 0o666, dir_fd=dir_fd)
    return os.fdopen(fd, "wb")
