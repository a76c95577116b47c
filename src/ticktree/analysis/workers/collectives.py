"""Meetings: collectives, where each of a crew waits for the last to arrive. Who waits least there is waited for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from ticktree.analysis.workers.roles import Unit
from ticktree.profile import Node
from ticktree.profile.clock import HOST

# Of all ranks, as instruments/torch calls its rows. At others, as a broadcast, not everybody waits for everybody.
BLOCKING = frozenset(
    {
        *("all_reduce", "all_reduce_coalesced", "barrier", "monitored_barrier"),
        *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object"),
        *("all_gather_single", "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single"),
        *("all_to_all", "all_to_all_single"),
    }
)
# A rank has come to these before they begin: they only wait for the others.
MEETINGS = BLOCKING | {"DDP all_reduce", "Work.wait"}
# Its peers must wait so many times as long: what is waited is what is left over of all else, and varies as much.
LATE_FACTOR = 2.0


def is_meeting(node: Node) -> bool:
    """Tell whether each waits for all others here."""
    return node.wait and node.name in MEETINGS and node.clock == HOST


def late(waited: Mapping[Unit, int], deviations: float) -> Iterator[tuple[Unit, int]]:
    """Yield who comes later than the others, and how long those wait.

    Args:
        waited: how long each waits a call.
        deviations: how many times their median deviation from the median the others must wait longer.
    """
    for unit, self_ns in waited.items():
        others = [ns for other, ns in waited.items() if other != unit]
        usual_ns = median(others) if others else 0
        apart_ns = deviations * median(abs(ns - usual_ns) for ns in others) if len(others) > 1 else 0.0
        if usual_ns > 0 and usual_ns >= LATE_FACTOR * self_ns and usual_ns - self_ns > apart_ns:
            yield unit, round(usual_ns)
