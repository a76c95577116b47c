"""What the published breakdown says such an update takes, with the work that this program does in it.

Durations measured elsewhere, as a user would record them: another's report, a log, a paper. Whether they can be
true of this machine, the report says by itself.
"""

from __future__ import annotations

import math

import ticktree

from .buffers import Room
from .encoder import Encoder

NODE = "claimed by the breakdown"
# Seconds, of a batch of 256 on a CPU.
SAMPLE = 0.020
CONVOLUTIONS = (0.05e-3, 0.05e-3, 0.04e-3)
BATCH = 256


def declare_breakdown(encoder: Encoder, room: Room) -> None:
    """Record the claimed times under a node of their own, outside all loops.

    Args:
        encoder: Whose convolutions they are said to be.
        room: What the buffer keeps: a batch is that many floats, twice.
    """
    state_bytes = 4 * math.prod(room.shape)
    with ticktree.section(NODE):
        ticktree.record_duration("sample", SAMPLE, bytes=2 * state_bytes * BATCH, items=BATCH)
        for name, seconds, flops in zip(encoder.names, CONVOLUTIONS, encoder.flops, strict=True):
            ticktree.record_duration(name, seconds, flops=flops * BATCH, items=BATCH)
