"""Protocol buffers by columns: many messages of one shape at once, where one after another would take minutes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Of 64 bits, seven a byte.
_LONGEST = 10


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
