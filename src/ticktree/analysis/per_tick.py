"""What the system did to a loop's thread in a usual tick: how often it waited, how much fresh memory it touched."""

from __future__ import annotations

from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.cycles import LEAST_TRIPS
from ticktree.profile import Loop

Cause: TypeAlias = Literal["voluntary_switches", "minor_faults"]

# Where sums are not known there are the kept ticks, which are the longest: of those only the ones count that were not
# much longer than the others. Our own choice.
USUAL_FACTOR = 2.0


def a_tick(loop: Loop, cause: Cause) -> float | None:
    """Return how often `cause` came in a usual steady tick of `loop`; None where the system did not tell."""
    if loop.causes is not None and loop.causes.ticks >= LEAST_TRIPS:
        sums = {
            "voluntary_switches": loop.causes.voluntary_switches,
            "minor_faults": loop.causes.minor_faults,
        }
        return sums[cause] / loop.causes.ticks
    usual = [tick for tick in loop.worst if tick.duration_ns <= USUAL_FACTOR * (loop.stats.mean_ns or 0)]
    known = [tick.causes[cause] for tick in usual if cause in tick.causes]
    return median(known) if known else None
