"""A writer of protocol buffers: the wire format has few rules, and the user's protobuf release does not matter.

A message is the bytes of its fields one after the other. A field with its type's default is left out, unless readers
distinguish an absent field from a default.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ticktree.outputs.writing.visible import encodable

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_64_BITS = (1 << 64) - 1


def varint(number: int) -> bytes:
    """Return an integer of at most 64 bits, seven bits per byte; a negative one as its two's complement.

    Raises:
        OverflowError: it has more bits.
    """
    if not -(1 << 63) <= number <= _64_BITS:
        raise OverflowError(f"{number} does not fit 64 bits")
    number &= _64_BITS
    pieces = bytearray()
    while number > 0x7F:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    pieces.append(number)
    return bytes(pieces)


def tag(field: int, wire_type: int) -> bytes:
    """Return the tag of a field."""
    return varint(field << 3 | wire_type)


def integer(field: int, number: int, *, present: bool = False) -> bytes:
    """Return a field of type int64, uint64, int32, bool or enum; with `present`, even if it is 0."""
    return tag(field, VARINT) + varint(number) if number or present else b""


def integers(field: int, numbers: Iterable[int]) -> bytes:
    """Return a repeated field of such a type, packed."""
    return blob(field, b"".join(map(varint, numbers)))


def fixed64(field: int, number: int, *, present: bool = False) -> bytes:
    """Return a field of type fixed64 or sfixed64."""
    return tag(field, FIXED64) + struct.pack("<Q", number & _64_BITS) if number or present else b""


def signed(field: int, number: int, *, present: bool = False) -> bytes:
    """Return a field of type sint32 or sint64."""
    return integer(field, _zigzag(number), present=present)


def signed_integers(field: int, numbers: Iterable[int]) -> bytes:
    """Return a repeated field of such a type, packed."""
    return integers(field, map(_zigzag, numbers))


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else ~(number << 1)


def double(field: int, number: float, *, present: bool = False) -> bytes:
    """Return a field of type double; -0.0 is not the default."""
    packed = struct.pack("<d", number)
    return tag(field, FIXED64) + packed if any(packed) or present else b""


def doubles(field: int, numbers: Iterable[float]) -> bytes:
    """Return a repeated field of type double, packed."""
    return blob(field, b"".join(struct.pack("<d", number) for number in numbers))


def single(field: int, number: float) -> bytes:
    """Return a field of type float in a oneof, where the default is written as well."""
    return tag(field, FIXED32) + struct.pack("<f", number)


def text(field: int, string: str) -> bytes:
    """Return a field of type string; lone surrogates, which UTF-8 cannot encode, are escaped."""
    return blob(field, encodable(string).encode())


def blob(field: int, content: bytes) -> bytes:
    """Return a field of type bytes; an empty one is left out."""
    return message(field, content) if content else b""


def message(field: int, *parts: bytes) -> bytes:
    """Return a field that is a message, which is written even if it is empty."""
    content = b"".join(parts)
    return tag(field, BYTES) + varint(len(content)) + content


# 64 bits, seven per byte.
_MAX_VARINT_BYTES = 10


class MessageRows:
    """Messages of one shape, one per row of bytes: pieces are appended, then the bytes in use are returned."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pieces: list[tuple[NDArray[np.uint8], NDArray[np.bool_]]] = []

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The length of each message so far."""
        sizes = np.zeros(self._count, np.int64)
        for _, mask in self._pieces:
            for column in mask.T:  # sums of whole columns are several times faster than one of each short row
                sizes += column
        return sizes

    def constant(self, data: bytes, mask: NDArray[np.bool_] | None = None) -> MessageRows:
        """Append the same bytes to every message, or to those of the mask."""
        row = np.frombuffer(data, np.uint8)
        mask = np.ones(self._count, bool) if mask is None else mask
        self._pieces.append(
            (np.broadcast_to(row, (self._count, len(row))), np.repeat(mask[:, None], len(row), axis=1))
        )
        return self

    def varints(self, values: NDArray[np.int64], mask: NDArray[np.bool_] | None = None) -> MessageRows:
        """Append an integer to every message, or to those of the mask."""
        width = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
        if width > _MAX_VARINT_BYTES:
            raise ValueError("a number of more than 64 bits")
        groups = values[:, None] >> (7 * np.arange(width))
        more = groups > 0x7F
        digits = (groups & 0x7F | np.where(more, 0x80, 0)).astype(np.uint8)
        present = np.ones_like(more)
        present[:, 1:] = groups[:, 1:] > 0
        if mask is not None:
            present &= mask[:, None]
        self._pieces.append((digits, present))
        return self

    def append(self, other: MessageRows) -> MessageRows:
        """Append the bytes of other messages, row by row."""
        self._pieces.extend(other._pieces)
        return self

    def to_bytes(self) -> bytes:
        """Return all messages, one after another."""
        digits = np.concatenate([piece for piece, _ in self._pieces], axis=1)
        mask = np.concatenate([mask for _, mask in self._pieces], axis=1)
        content: bytes = digits[mask].tobytes()
        return content


def chunks(count: int, size: int) -> Sequence[slice]:
    """Return slices that divide `count` rows into parts of at most `size`."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
