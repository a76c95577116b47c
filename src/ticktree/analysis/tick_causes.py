"""What the system did to a loop's thread in a usual tick: how often it waited, how much fresh memory it touched."""

from __future__ import annotations

from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.loops import LEAST_TICKS
from ticktree.profile import Loop, Node

Cause: TypeAlias = Literal["voluntary_switches", "minor_faults"]

# What a page costs when it is touched for the first time: the kernel finds one and fills it with zeros. Here, on a
# virtual machine, 64 MiB in 16,384 pages were copied onto used memory in 6 to 10 ms and into fresh memory in 39 to
# 75 (docs/workloads/visual_sac.md): 1.8 to 4.2 us a page, of which this is near the lower end.
FAULT_NS = 2_000
# The ticks kept are the longest: only those count that were not much longer than the others. Our own choice.
USUAL_FACTOR = 2.0


def usual_per_tick(loop: Loop, cause: Cause) -> float | None:
    """Return how often `cause` came in a usual steady tick of `loop`; None where the system did not tell.

    That is the mean over all steady ticks, or the median of the kept ones, whichever is less: a few with very many
    make the mean, and the longest ticks have more of everything.
    """
    known = [each for each in (_mean(loop, cause), _median(loop, cause)) if each is not None]
    return min(known, default=None)


def _mean(loop: Loop, cause: Cause) -> float | None:
    sums = loop.causes
    if sums is None or sums.ticks < LEAST_TICKS:
        return None
    amount = sums.minor_faults if cause == "minor_faults" else sums.voluntary_switches
    return amount / sums.ticks


def _median(loop: Loop, cause: Cause) -> float | None:
    usual = [tick for tick in loop.worst if tick.duration_ns <= USUAL_FACTOR * (loop.stats.mean_ns or 0)]
    known = [tick.causes[cause] for tick in usual if cause in tick.causes]
    return median(known) if known else None


# A third of fewer calls than these says little of how they are.
GROWTH_CALLS = 30


def growth(node: Node) -> float | None:
    """Return how many times as long a call took in the last third of them as in the first; None where not known.

    Calls are told apart by the windows they ended in, so the thirds are as equal as windows allow.
    """
    windows = node.windows
    if node.count < GROWTH_CALLS or windows.count != node.count:
        return None
    first = _mean_ns(node, sorted(windows.counts))
    last = _mean_ns(node, sorted(windows.counts, reverse=True))
    return last / first if first and last is not None else None


def _mean_ns(node: Node, order: list[int]) -> float | None:
    """Return the mean of the first third of the calls, if windows come in `order`; None where one holds too many."""
    count = total_ns = 0
    for index in order:
        count += node.windows.counts[index]
        total_ns += node.windows.totals.get(index, 0)
        if 3 * count >= node.count:
            return total_ns / count if 2 * count <= node.count else None
    return None
