"""The rows in the file that an offline run of W&B leaves: its own messages, in the log format of LevelDB."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK = 1 << 15
_FILE_HEAD = 7  # ":W&B", a magic number, a version
_HEAD = struct.Struct("<IHB")  # checksum, length, which part of a record it is
_FULL, _LAST = 1, 4


def records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a log whose first block begins with the file's own head."""
    assert content.startswith(b":W&B")
    position, parts = _FILE_HEAD, b""
    while position + _HEAD.size <= len(content):
        if _BLOCK - position % _BLOCK < _HEAD.size:  # what is left of a block is too small for a head
            position += _BLOCK - position % _BLOCK
            continue
        _, length, part = _HEAD.unpack_from(content, position)
        position += _HEAD.size
        parts += content[position : position + length]
        position += length
        if part in (_FULL, _LAST):
            yield parts
            parts = b""


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the step of each row of a run's history, and what was logged at it."""
    from wandb.proto import wandb_internal_pb2 as messages

    for content in records(path.read_bytes()):
        record = messages.Record.FromString(content)
        if record.WhichOneof("record_type") == "history":
            items = {
                item.key or ".".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            yield record.history.step.num, items
