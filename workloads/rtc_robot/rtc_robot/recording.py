"""Recording, unless it was started already."""

from __future__ import annotations

import ticktree

# What these programs' tables need of ticktree's own instruments: the queue's depth, and the calls over gRPC.
INSTRUMENTS = ("lerobot", "grpc")


def record_anyway() -> None:
    """Record even without `ticktree run`, which would do this by itself: the programs tell what they recorded."""
    ticktree.enable()
    ticktree.instrument(*INSTRUMENTS)
