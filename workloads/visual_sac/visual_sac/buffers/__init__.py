"""Three ways to remember transitions; `make_buffer` builds one by name."""

from __future__ import annotations

from typing import TypeAlias

import torch

from .base import Batch, ReplayBuffer, Room, Transition
from .list_buffer import ListBuffer
from .ring_buffer import RingBuffer
from .uint8_buffer import Uint8Buffer

Kind: TypeAlias = type[ListBuffer] | type[Uint8Buffer] | type[RingBuffer]

BUFFERS: dict[str, Kind] = {"list": ListBuffer, "uint8": Uint8Buffer, "ring": RingBuffer}

__all__ = ["BUFFERS", "Batch", "ReplayBuffer", "Room", "Transition", "make_buffer"]


def make_buffer(name: str, room: Room, device: torch.device, seed: int) -> ReplayBuffer:
    """Build the buffer called `name`, whose batches are on `device` and drawn with `seed`."""
    return BUFFERS[name](room, device, seed)
