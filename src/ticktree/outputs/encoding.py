"""Encoding: protobuf's wire format, as much of it as the trace needs; and of many messages at once, by columns."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_VARINT, _DOUBLE, _BYTES = 0, 1, 2
# Of 64 bits, seven a byte.
_LONGEST = 10


def varint(value: int) -> bytes:
    """A whole number, not negative: seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field with a whole number; a negative one as its 64 bits."""
    return varint(field << 3 | _VARINT) + varint(value % (1 << 64))


def double(field: int, value: float) -> bytes:
    """A field with a floating-point number."""
    return varint(field << 3 | _DOUBLE) + struct.pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """A field with a message made of these parts."""
    body = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    """A field with a text; what is no character in UTF-8 is replaced."""
    return message(field, value.encode("utf-8", "replace"))


class Rows:
    """Messages of one shape, each a row of bytes: pieces are put one after another, and then those in use are taken.

    Args:
        count: How many messages.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pieces: list[tuple[NDArray[np.uint8], NDArray[np.bool_]]] = []

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many bytes each message has so far."""
        found = np.zeros(self._count, np.int64)
        for _, used in self._pieces:
            found += used.sum(axis=1)
        return found

    def constant(self, data: bytes) -> Rows:
        """Adds the same bytes to every message."""
        return self.where(np.ones(self._count, bool), data)

    def where(self, used: NDArray[np.bool_], data: bytes) -> Rows:
        """Adds the same bytes to some messages."""
        row = np.frombuffer(data, np.uint8)
        self._pieces.append(
            (np.broadcast_to(row, (self._count, len(row))), np.repeat(used[:, None], len(row), axis=1))
        )
        return self

    def varints(self, values: NDArray[np.int64], used: NDArray[np.bool_] | None = None) -> Rows:
        """Adds a whole number to every message, or to some."""
        width = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
        if width > _LONGEST:
            raise ValueError("a number of more than 64 bits")
        groups = values[:, None] >> (7 * np.arange(width))
        more = groups > 0x7F
        digits = (groups & 0x7F | np.where(more, 0x80, 0)).astype(np.uint8)
        present = np.ones_like(more)
        present[:, 1:] = groups[:, 1:] > 0
        if used is not None:
            present &= used[:, None]
        self._pieces.append((digits, present))
        return self

    def append(self, other: Rows) -> Rows:
        """Adds the bytes of other messages, row by row."""
        self._pieces.extend(other._pieces)
        return self

    def to_bytes(self) -> bytes:
        """All messages, one after another."""
        digits = np.concatenate([piece for piece, _ in self._pieces], axis=1)
        used = np.concatenate([used for _, used in self._pieces], axis=1)
        found: bytes = digits[used].tobytes()
        return found


def chunks(count: int, size: int) -> Sequence[slice]:
    """What divides `count` rows into pieces of at most `size`."""
    return [slice(at, min(at + size, count)) for at in range(0, count, size)]
