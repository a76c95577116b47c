"""TFRecord: messages one after the other, each with its length and checksums of both."""

from __future__ import annotations

import struct

_CASTAGNOLI = 0x82F63B78  # the polynomial, its bits in the order in which the checksum takes them
_32_BITS = (1 << 32) - 1


def _table() -> tuple[int, ...]:
    entries = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (_CASTAGNOLI if entry & 1 else 0)
        entries.append(entry)
    return tuple(entries)


_TABLE = _table()


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of `content`, which is not the CRC-32 that Python brings."""
    crc = _32_BITS
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ _32_BITS


def record(content: bytes) -> bytes:
    """Return `content` framed."""
    length = struct.pack("<Q", len(content))
    return length + _checksum(length) + content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    """Return the checksum as the format keeps it: turned and moved, for data that hold checksums themselves."""
    crc = crc32c(content)
    turned = (crc >> 15 | crc << 17) & _32_BITS
    return struct.pack("<I", (turned + 0xA282EAD8) & _32_BITS)
