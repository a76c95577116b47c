"""Guarded reads, for every file that another user may have created, or that may be damaged.

A read never waits (for a pipe, a device), takes a bounded amount of memory (`/dev/zero`, a file that unpacks to a
thousand times its size), and fails with one error, which names the file and gives the reason in one line.

A profiled program imports this module when it starts, so slow imports wait until they are needed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ticktree.errors import TicktreeError

# Limit in bytes for a run's facts: they have a few kilobytes, mostly its command line.
MAX_FACTS_BYTES = 1 << 24
# For files that may hold a whole profile, or a trace.
MAX_DATA_BYTES = 1 << 32
# For the content of a compressed file, which may be a hundredth of it.
MAX_UNPACKED = 1 << 30

_CHUNK_BYTES = 1 << 20
_MAX_REASON_CHARS = 300
_UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"))


class FileError(TicktreeError):
    """A file that cannot be read or understood."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{os.fspath(self.path)}: {self.reason}"


class MissingFileError(FileError):
    """A file that does not exist."""


@contextmanager
def open_file(
    path: Path, max_bytes: int, *, follow: bool = True, dir_fd: int | None = None
) -> Iterator[BinaryIO]:
    """Open a regular file for reading, unbuffered; errors while reading it become a FileError, too.

    Args:
        path: the file.
        max_bytes: refuse a file that is larger.
        follow: whether `path` may be a symbolic link.
        dir_fd: the directory that a relative path begins in; None for the current one.

    Raises:
        FileError: it cannot be opened, is not a regular file, or is too large.
    """
    # Nonblocking: opening a pipe without a writer would wait for one.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(path, "it does not exist") from None
    except OSError as error:
        raise FileError(path, _reason(error)) from None
    except ValueError:  # a zero byte, or another character that no file name can hold
        raise FileError(path, "it is not a file name") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(path, "it is not a regular file")
        if status.st_size > max_bytes:
            raise FileError(path, f"it is larger than {_size(max_bytes)}, the limit for such a file")
        with open(fd, "rb", buffering=0, closefd=False) as file:
            yield file
    except OSError as error:
        raise FileError(path, _reason(error)) from None
    finally:
        os.close(fd)


def read_bytes(path: Path, max_bytes: int, *, follow: bool = True, dir_fd: int | None = None) -> bytes:
    """Return the content of a regular file; for the arguments see `opened`.

    Raises:
        FileError: it cannot be read.
    """
    with open_file(path, max_bytes, follow=follow, dir_fd=dir_fd) as file, decoding(path):
        return read_content(file)


def read_content(file: BinaryIO) -> bytes:
    """Return the content of an opened file, up to its current size: a file that grows cannot keep us reading."""
    size = os.fstat(file.fileno()).st_size
    chunks = []
    while size > 0 and (chunk := file.read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def decompress(data: bytes, max_bytes: int = MAX_UNPACKED) -> bytearray:
    """Return the content of gzip or zlib data; gzip data may have several streams in sequence.

    Raises:
        ValueError: it is damaged, cut short, or unpacks to more than `max_bytes`.
    """
    import zlib

    content = bytearray()
    rest = data
    try:
        while rest:
            stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either format
            while not stream.eof:
                chunk = stream.decompress(rest, _CHUNK_BYTES)
                rest = stream.unconsumed_tail
                if not chunk and not rest and not stream.eof:
                    raise ValueError("a compressed file that is damaged or cut short")
                content += chunk
                if len(content) > max_bytes:
                    raise ValueError(
                        f"a compressed file of more than {_size(max_bytes)}, the limit: unpack it if you trust it"
                    )
            rest = stream.unused_data.lstrip(b"\0")  # gzip files may be padded
    except zlib.error as error:
        raise ValueError(f"a compressed file that is damaged or cut short ({error})") from None
    return content


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; every number in it is finite.

    Raises:
        ValueError: it is not JSON.
    """
    import json

    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise ValueError("not JSON: no text in UTF-8") from None
    except RecursionError:
        raise ValueError("not JSON that was written here: too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


@contextmanager
def decoding(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every failure to decode a file's content into the one error that names the file.

    Content that ticktree did not write fails anywhere in its decoder, with any exception: OverflowError for 1e400,
    tokenize.TokenError for the header of a numpy file, a TypeError for a list in the place of a number.
    """
    try:
        yield
    except FileError:
        raise
    except TicktreeError as error:
        raise FileError(path, str(error)) from None
    except MemoryError:
        raise FileError(path, "it does not fit into this machine's memory") from None
    except OSError as error:
        raise FileError(path, _reason(error)) from None
    except Exception as error:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise FileError(path, f"it is damaged: {' '.join(text.split())[:_MAX_REASON_CHARS]}") from None


def _reason(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value != 0:
        raise ValueError(f"{digits:.40} is too large for a number")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def _size(count: int) -> str:
    for bits, unit in _UNITS:
        if count >= 1 << bits:
            return f"{count / (1 << bits):.3g} {unit}"
    return f"{count} bytes"
