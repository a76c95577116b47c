"""A few ticks of a loop without a rate take far longer than the others, because of one section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import TELLING_SHARE, LoopView
from ticktree.analysis.machine import Machine
from ticktree.analysis.rules.contended import is_contended
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, last_name, times
from ticktree.profile import Node
from ticktree.profile import path as paths
from ticktree.profile.histogram import middle_of
from ticktree.profile.ticks import WorstTick

# So many times the median is no scatter. Our own choice, as all of these.
SPIKE_FACTOR = 5.0
# Where more ticks are long, the loop has two kinds of ticks; fewer than three may be chance.
MOST_SHARE = 0.05
FEWEST = 3
LEAST_TICKS = 50
# They must cost a twentieth of the loop's time.
LEAST_LOST_SHARE = 0.05
# The section is called in the other ticks too: an update every hundredth tick is the loop's plan, and no spike.
USUAL_CALLS = 0.5


@dataclass(frozen=True, slots=True)
class _Spikes:
    count: int
    lost_ns: float
    kept: Sequence[WorstTick]


class SpikesRule:
    """Each loop without a rate in which one section is long now and then; see docs/rules/spikes.md."""

    name: ClassVar[str] = "spikes"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each such loop, unless other processes take the run's cores."""
        if is_contended(Machine(seen.profile)):
            return
        for view in seen.loops:
            spikes = _spikes(view)
            path = None if spikes is None else _blamed(view, spikes, seen)
            if spikes is not None and path is not None:
                yield self._finding(view, spikes, path, seen.profile.root.at(path))

    def _finding(self, view: LoopView, spikes: _Spikes, path: str, node: Node) -> Finding:
        usual_ns = _usual_ns(view, node)
        long_ns = sum(tick.breakdown.get(path, 0) for tick in spikes.kept) / len(spikes.kept)
        every = _every(spikes.kept)
        return Finding(
            rule=self.name,
            claim=Claim(spikes.lost_ns / (view.tick_ns * view.ticks), view.path),
            path=path,
            message=(
                f"{spikes.count:,} of {view.ticks:,} ticks of {last_name(view.path)}{every} take more than "
                f"{times(SPIKE_FACTOR)} as long as the others: {last_name(path)} takes {duration(long_ns)} in the "
                f"longest, {duration(usual_ns)} otherwise; do that work in another thread, or a part of it in each "
                "tick"
            ),
            evidence={
                "long_ticks": spikes.count,
                "ticks": view.ticks,
                "in_long_ticks_ns": round(long_ns),
                "in_other_ticks_ns": round(usual_ns),
            },
        )


def _spikes(view: LoopView) -> _Spikes | None:
    loop = view.loop
    if loop is None or loop.hz or view.ticks < LEAST_TICKS or not loop.stats.p50_ns:
        return None
    least_ns = SPIKE_FACTOR * loop.stats.p50_ns
    buckets = {
        middle_of(bucket): count
        for bucket, count in loop.stats.histogram.buckets.items()
        if middle_of(bucket) >= least_ns
    }
    count = sum(buckets.values())
    lost_ns = sum((took_ns - loop.stats.p50_ns) * number for took_ns, number in buckets.items())
    kept = [tick for tick in loop.worst if tick.duration_ns >= least_ns]
    if not FEWEST <= count <= MOST_SHARE * view.ticks or len(kept) < FEWEST:
        return None
    return _Spikes(count, lost_ns, kept) if lost_ns >= LEAST_LOST_SHARE * loop.stats.sum_ns else None


def _blamed(view: LoopView, spikes: _Spikes, seen: Survey) -> str | None:
    """Return the section furthest down that explains most of the long ticks; None where none does."""
    nodes = _nodes(view.path, spikes, seen)
    usual_ns = view.loop.stats.p50_ns or 0 if view.loop else 0
    whole_ns = sum(tick.duration_ns - usual_ns for tick in spikes.kept)
    explaining = [
        path
        for path, node in nodes.items()
        if sum(tick.breakdown.get(path, 0) - _usual_ns(view, node) for tick in spikes.kept)
        >= TELLING_SHARE * whole_ns
    ]
    path = max(explaining, key=lambda path: (len(paths.split(path)), path), default=None)
    if path is None or nodes[path].wait or nodes[path].steady.count < USUAL_CALLS * view.ticks:
        return None
    return path


def _nodes(loop: str, spikes: _Spikes, seen: Survey) -> Mapping[str, Node]:
    named = {path for tick in spikes.kept for path in tick.breakdown} - {loop}
    found = ((path, seen.profile.root.find(path)) for path in named)
    return {path: node for path, node in found if node is not None}


def _usual_ns(view: LoopView, node: Node) -> float:
    """Return what a node takes in a usual tick: its median call, as often as it is called in one."""
    return (node.steady.p50_ns or 0) * node.steady.count / view.ticks


def _every(kept: Sequence[WorstTick]) -> str:
    """Return how regular the long ticks are; "" where they are not, or several threads made them."""
    numbers = sorted(tick.tick for tick in kept)
    distances = {later - sooner for sooner, later in pairwise(numbers)}
    is_regular = len({tick.writer for tick in kept}) == 1 and len(distances) == 1
    return f", one in {distances.pop():,}," if is_regular else ""
