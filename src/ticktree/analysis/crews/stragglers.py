"""Stragglers: workers that are slower than others that do the same."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.crews.meetings import is_meeting, late
from ticktree.analysis.crews.roles import Role, Unit
from ticktree.analysis.places import TELLING_SHARE, Place
from ticktree.profile.stats import rounded_ratio

# Equal workers that share a machine differ by some percent. Where all wait for the slowest, one that is 1.2 times
# as slow costs up to a sixth of the time: from there it is worth a look.
SLOWER_FACTOR = 1.2
# With one peer alone nobody knows how much equals differ, so the gap must be plain. 1.5 times the median is what
# Mantri calls an outlier among equal tasks (Ananthanarayanan et al., Reining in the Outliers in Map-Reduce
# Clusters, OSDI 2010); twice is beyond that.
PLAIN_FACTOR = 2.0
# Peers differ as well: three of their standard deviations, told from the median of their deviations from the
# median (times 1.4826, which is right for normal ones), because a second straggler must not hide the first.
DEVIATIONS = 3 * 1.4826
# The first call of a worker imports, allocates and compiles; with ten, one such call is no longer the mean.
LEAST_CALLS = 10
# Workers that were called equally often, to so much of it, go in step: whoever waits for one waits for all.
IN_STEP_SHARE = 0.05
# Somebody is there for as long as the others if it was alive for so much of the longest life.
WHOLE_LIFE_SHARE = 0.8
# Parents come before their children, and what is lost in a child is lost in the parent: of two that lose about the
# same, the parent is where others meet it. In the child it may look like a little more, by chance.
CLEARLY_MORE = 1.1


Measure: TypeAlias = Literal["call", "total", "wait"]


@dataclass(frozen=True, slots=True)
class Straggler:
    """A worker that is slower than its peers.

    Attributes:
        unit: who.
        path: of the node where it loses most.
        chief: of the node at or below `path` that has most of what is lost.
        measure: whether each of its calls takes longer, or all of them together, or it waits less for the others at a
            collective than they for it.
        peers: how many others do the same.
        took_ns: how long its mean call took, or all of them; waits are not counted. Of a wait: how long that was.
        peers_took_ns: the median of the same of its peers.
        calls: how many it made.
        peers_calls: the median of how many its peers made.
        excess_ns: how much longer all its calls took than as many of its peers', or than all of theirs.
    """

    unit: Unit
    path: str
    chief: str
    measure: Measure
    peers: int
    took_ns: int
    peers_took_ns: int
    calls: int
    peers_calls: int
    excess_ns: int

    @property
    def factor(self) -> float:
        """How many times as long as its peers it took."""
        return self.took_ns / self.peers_took_ns

    @property
    def is_in_step(self) -> bool:
        """Whether it was called as often as its peers: who waits for all of them waits for the slowest."""
        return abs(self.calls - self.peers_calls) <= IN_STEP_SHARE * self.peers_calls


def stragglers(role: Role, found: Sequence[Place]) -> list[Straggler]:
    """Return the stragglers of `role`, the one that loses most first; each once, where it loses most.

    Args:
        role: One of the processes or of the threads.
        found: The places of the whole tree.
    """
    worst: dict[Unit, tuple[Straggler, Place]] = {}
    for crew in crews(role):
        for place in found[1:]:
            if place.is_in_wait or place.is_elsewhere or (place.node.wait and not is_meeting(place.node)):
                continue
            for one in _here(place, crew):
                if one.unit not in worst or _weight(one) > CLEARLY_MORE * _weight(worst[one.unit][0]):
                    worst[one.unit] = one, place
    chosen = [replace(one, chief=_chief(one, place, role)) for one, place in worst.values()]
    return sorted(chosen, key=lambda one: (-one.excess_ns, one.unit.run, one.unit.name))


def _here(place: Place, crew: Sequence[Unit]) -> list[Straggler]:
    if place.node.wait:
        return list(_late(place, crew))
    return [*_slow_calls(place, crew), *_long_totals(place, crew)]


def crews(role: Role) -> list[list[Unit]]:
    """Return those of `role` that can be compared with one another: the equals of each run, two or more."""
    by_run: dict[str, list[Unit]] = {}
    for unit in role.equals:
        by_run.setdefault(unit.run, []).append(unit)
    return [crew for crew in by_run.values() if len(crew) > 1]


def whole_lives(crew: Sequence[Unit]) -> list[Unit]:
    """Return those who were there for about as long as the one who was there longest."""
    longest_ns = max((unit.span_ns or 0 for unit in crew), default=0)
    return [u for u in crew if u.span_ns is None or u.span_ns >= WHOLE_LIFE_SHARE * longest_ns]


def _weight(one: Straggler) -> float:
    """Return how well `one` says what is lost: that calls take longer says more than that there is more to do."""
    return one.excess_ns if one.measure == "call" else TELLING_SHARE * one.excess_ns


def _slow_calls(place: Place, crew: Sequence[Unit]) -> Iterator[Straggler]:
    calls = {unit: place.count(unit) for unit in crew}
    took = {
        unit: rounded_ratio(place.busy_ns(unit), number)
        for unit, number in calls.items()
        if number >= LEAST_CALLS
    }
    for unit, usual_ns in _slow(took):
        excess_ns = (took[unit] - usual_ns) * calls[unit]
        yield _straggler(place, "call", unit, took, usual_ns, calls, excess_ns)


def _long_totals(place: Place, crew: Sequence[Unit]) -> Iterator[Straggler]:
    calls = {unit: place.count(unit) for unit in whole_lives(crew)}
    took = {unit: place.busy_ns(unit) for unit, number in calls.items() if number}
    for unit, usual_ns in _slow(took):
        yield _straggler(place, "total", unit, took, usual_ns, calls, took[unit] - usual_ns)


def _late(place: Place, crew: Sequence[Unit]) -> Iterator[Straggler]:
    calls = {unit: place.count(unit) for unit in crew}
    most = max(calls.values())
    if min(calls.values()) < max(LEAST_CALLS, (1 - IN_STEP_SHARE) * most):
        return  # not all of them meet there
    waited = {unit: rounded_ratio(place.total_ns(unit), number) for unit, number in calls.items()}
    for unit, usual_ns in late(waited, DEVIATIONS):
        excess_ns = (usual_ns - waited[unit]) * calls[unit]
        yield _straggler(place, "wait", unit, waited, usual_ns, calls, excess_ns)


def _straggler(
    place: Place,
    measure: Measure,
    unit: Unit,
    took: Mapping[Unit, int],
    usual_ns: int,
    calls: Mapping[Unit, int],
    excess_ns: int,
) -> Straggler:
    return Straggler(
        unit=unit,
        path=place.path,
        chief=place.path,
        measure=measure,
        peers=len(took) - 1,
        took_ns=took[unit],
        peers_took_ns=usual_ns,
        calls=calls[unit],
        peers_calls=round(median(calls[peer] for peer in took if peer != unit)),
        excess_ns=excess_ns,
    )


def _slow(took: Mapping[Unit, int]) -> Iterator[tuple[Unit, int]]:
    """Yield who took longer than the others by more than they differ, and the others' median."""
    ordered = sorted(took.items(), key=lambda item: item[1])
    values = [ns for _, ns in ordered]
    # Without the largest the median is the least that it can be: who is below its multiple need not be looked at.
    least_ns = _median_without(values, len(values) - 1) if values else 0
    first = bisect_left(values, SLOWER_FACTOR * least_ns)
    for at, (unit, ns) in enumerate(ordered[first:], start=first):
        usual_ns = round(_median_without(values, at))
        if usual_ns <= 0 or ns < SLOWER_FACTOR * usual_ns:
            continue
        others = values[:at] + values[at + 1 :]
        if len(others) == 1:
            if ns >= PLAIN_FACTOR * usual_ns:
                yield unit, usual_ns
        elif ns > usual_ns + DEVIATIONS * median(abs(other - usual_ns) for other in others):
            yield unit, usual_ns


def _median_without(values: Sequence[int], at: int) -> float:
    """Return the median of sorted `values` but the one `at`: for each of a thousand, without sorting again."""
    rest = len(values) - 1
    if not rest:
        return 0.0
    middles = ((rest - 1) // 2, rest // 2)
    return sum(values[place + (place >= at)] for place in middles) / 2


def _chief(one: Straggler, place: Place, role: Role) -> str:
    """Return the path of the deepest node that has most of the excess of `one`, found at `place`."""
    if one.measure == "wait":
        return place.path
    peers = [unit for unit in role.equals if unit.run == one.unit.run and unit != one.unit]
    while True:
        waiting = [below for below in place.below if not below.node.wait]
        excess = {below.path: (_excess_ns(below, one, peers), below) for below in waiting}
        most_ns, chief = max(excess.values(), key=lambda found: found[0], default=(0, place))
        if most_ns < TELLING_SHARE * one.excess_ns:
            return place.path
        place = chief


def _excess_ns(place: Place, one: Straggler, peers: Sequence[Unit]) -> int:
    """Return how much longer `one` was at `place` than its peers, for as many calls of where it straggles."""
    usual_ns = median(place.busy_ns(peer) for peer in peers)
    if one.measure == "call" and one.peers_calls:
        usual_ns = usual_ns * one.calls / one.peers_calls
    return round(place.busy_ns(one.unit) - usual_ns)
