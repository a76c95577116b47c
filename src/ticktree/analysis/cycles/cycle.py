"""Cycles: what a program does again and again, and what part of each trip its sections take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ticktree.analysis.categories import is_sleep
from ticktree.analysis.places import Place
from ticktree.profile import Loop, Profile
from ticktree.profile import path as paths

# What was done so often is done again and again, whether the program calls it a loop or not. From ten on the first
# ones, which import, allocate and compile, no longer make the mean.
LEAST_TRIPS = 10
# "Dominates" in its plain meaning: half of all work. In a driver's loop of 130 ms, measured section by section by its
# authors, the wait for the simulator's answer took 87 ms, two thirds.
DOMINATES_SHARE = 0.5


@dataclass(slots=True, eq=False)
class Cycle:
    """A loop; or a section that is in none and was called so often that it might as well be one.

    Attributes:
        path: of its node.
        loop: the loop; None where it is none.
        trips: ticks, or calls, after warm-up.
        ns: what those took together.
        spots: the sections in it, parents before their children. What runs beside it on other threads, or is in
            a loop within it, is left out.
    """

    path: str
    loop: Loop | None
    trips: int
    ns: int
    spots: list[Spot] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return paths.name_of(self.path)

    @property
    def trip(self) -> str:
        """What one trip is called."""
        return f"tick of {self.name}" if self.loop is not None else self.name

    @property
    def mean_ns(self) -> int:
        """What a trip takes; 0 where there was none."""
        return self.ns // self.trips if self.trips else 0

    @property
    def work_ns(self) -> int:
        """What the trips took together, without the sleep that holds a loop's rate."""
        return self.ns - sum(spot.ns for spot in self.spots if spot.parent is None and spot.is_sleep)

    def a_trip_ns(self, ns: int) -> int:
        """Return how much of each trip it is where all of them together take `ns`; 0 where there was none."""
        return ns // self.trips if self.trips else 0

    def share(self, ns: float) -> float:
        """Return what part of the cycle `ns` are; at most 1."""
        return min(1.0, ns / self.ns) if self.ns > 0 else 0.0

    def work_share(self, ns: float) -> float:
        """Return what part `ns` are of the cycle without its sleep; at most 1."""
        return min(1.0, ns / self.work_ns) if self.work_ns > 0 else 0.0


@dataclass(slots=True, eq=False)
class Spot:
    """A section within a cycle.

    Attributes:
        place: its node.
        cycle: in which it is.
        parent: the section it is in; None where that is the cycle itself.
        below: the sections in it.
    """

    place: Place
    cycle: Cycle
    parent: Spot | None
    below: list[Spot] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Of its node."""
        return self.place.path

    @property
    def name(self) -> str:
        """The section's name."""
        return self.place.node.name

    @property
    def calls(self) -> int:
        """Completed calls after warm-up."""
        return self.place.node.steady.count

    @property
    def ns(self) -> int:
        """What those took together, with all that is in them."""
        return self.place.node.steady.sum_ns

    @property
    def mean_ns(self) -> int:
        """What a call takes; 0 where there was none."""
        return self.ns // self.calls if self.calls else 0

    @property
    def share(self) -> float:
        """What part of the cycle it takes."""
        return self.cycle.share(self.ns)

    @property
    def is_sleep(self) -> bool:
        """Whether it is the sleep until the next tick is due, which is nobody's work and nobody's fault."""
        return self.place.node.wait and is_sleep(self.name)

    @property
    def bytes_a_call(self) -> float | None:
        """How much it said it moved, a call; None where it never said."""
        work, calls = self.place.node.work, self.place.node.count
        return work.bytes / calls if work is not None and work.bytes and calls else None

    @property
    def items_a_call(self) -> float | None:
        """How many items it said it handled, a call; None where it never said."""
        work, calls = self.place.node.work, self.place.node.count
        return work.items / calls if work is not None and work.items and calls else None

    @property
    def bytes_per_s(self) -> float | None:
        """How fast it moved what it said it moved, warm-up included as in what it said; None where it never said."""
        node = self.place.node
        if node.work is None or not node.work.bytes or node.total_ns <= 0:
            return None
        return node.work.bytes * 1e9 / node.total_ns

    @property
    def waited_share(self) -> float:
        """What part of its time it waited, on whichever thread."""
        total_ns = self.place.node.total_ns
        return min(1.0, sum(self.place.waited_ns.values()) / total_ns) if total_ns > 0 else 0.0

    def above(self) -> Iterator[Spot]:
        """Yield the sections it is in, the innermost first."""
        spot = self.parent
        while spot is not None:
            yield spot
            spot = spot.parent


def cycles(profile: Profile, found: Sequence[Place]) -> list[Cycle]:
    """Return the cycles among the places `found` of `profile`, outer ones first.

    A loop is one wherever it is. A section is one where no cycle is around it on its own thread and it was called
    ten times.
    """
    cycles_found: list[Cycle] = []
    if not found:
        return cycles_found
    waiting: list[tuple[Place, Spot | Cycle | None]] = [(found[0], None)]
    # The list grows while it is walked: trees may be deeper than functions can call.
    for place, around in waiting:
        here: Spot | Cycle | None = around
        if place.is_elsewhere:  # no part of what the program does
            continue
        if place.path:
            if place.node.concurrent_ns:  # it counts against nothing around it
                here = None
            if here is not None:
                here = _spot(place, here)
            begun = _cycle(profile, place, is_within=here is not None)
            if begun is not None:
                cycles_found.append(begun)
                here = begun
        waiting.extend((below, here) for below in place.below)
    return cycles_found


def _cycle(profile: Profile, place: Place, *, is_within: bool) -> Cycle | None:
    loop = profile.loops.get(place.path)
    if loop is not None:
        return Cycle(place.path, loop, loop.stats.count, loop.stats.sum_ns)
    steady = place.node.steady
    if not is_within and steady.count >= LEAST_TRIPS:
        return Cycle(place.path, None, steady.count, steady.sum_ns)
    return None


def _spot(place: Place, around: Spot | Cycle) -> Spot:
    if isinstance(around, Cycle):
        spot = Spot(place, around, None)
    else:
        spot = Spot(place, around.cycle, around)
        around.below.append(spot)
    spot.cycle.spots.append(spot)
    return spot
