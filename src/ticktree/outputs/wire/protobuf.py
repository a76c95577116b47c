"""Protocol buffers, written: the wire format's few rules, so that no user's protobuf release is in the way.

A message is the bytes of its fields one after the other. A field that has its type's default may be left out, and is,
unless it has to be there: whoever reads tells one that is from one that is not.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ticktree.outputs.writing.literal import encodable

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_64_BITS = (1 << 64) - 1


def varint(number: int) -> bytes:
    """Return a whole number of at most 64 bits, seven of them a byte; a negative one as its two's complement.

    Raises:
        OverflowError: it has more bits than that.
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
    """Return what a field begins with."""
    return varint(field << 3 | wire_type)


def integer(field: int, number: int, *, present: bool = False) -> bytes:
    """Return a field of type int64, uint64, int32, bool or enum; if it is to be `present`, be it 0."""
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


def all_signed(field: int, numbers: Iterable[int]) -> bytes:
    """Return a repeated field of such a type, packed."""
    return integers(field, map(_zigzag, numbers))


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else ~(number << 1)


def double(field: int, number: float, *, present: bool = False) -> bytes:
    """Return a field of type double; -0.0 is no default."""
    packed = struct.pack("<d", number)
    return tag(field, FIXED64) + packed if any(packed) or present else b""


def doubles(field: int, numbers: Iterable[float]) -> bytes:
    """Return a repeated field of type double, packed."""
    return blob(field, b"".join(struct.pack("<d", number) for number in numbers))


def single(field: int, number: float) -> bytes:
    """Return a field of type float that is in a oneof, where the default counts too."""
    return tag(field, FIXED32) + struct.pack("<f", number)


def text(field: int, words: str) -> bytes:
    """Return a field of type string; what UTF-8 has no bytes for is escaped."""
    return blob(field, encodable(words).encode())


def blob(field: int, content: bytes) -> bytes:
    """Return a field of type bytes, or one that is left out when empty."""
    return message(field, content) if content else b""


def message(field: int, *parts: bytes) -> bytes:
    """Return a field that is a message, which is there even when it has no fields."""
    content = b"".join(parts)
    return tag(field, BYTES) + varint(len(content)) + content
