"""The round trip to the robot, or over the network, is most of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.cycles.cycle import DOMINATES_SHARE, LEAST_TRIPS, Cycle, Spot
from ticktree.analysis.cycles.far_side import SERVER, FarSide, far_side
from ticktree.analysis.cycles.kinds import ROUND_TRIP, kind_of, spots_of, together_ns
from ticktree.analysis.cycles.per_tick import a_tick
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent

# So much of a trip is waited, where waits or CPU time were measured: who is on the CPU computes, whatever the name.
WAITS_SHARE = 0.5


class RoundTripRule:
    """Each cycle that is mostly spent on the way to something else; see docs/rules/round-trip.md."""

    name: ClassVar[str] = "round-trip"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each cycle of whose work half or more is robot or network."""
        for cycle in seen.cycles:
            spots = spots_of(cycle, ROUND_TRIP, seen, _is_trip)
            took_ns = together_ns(spots)
            if spots and cycle.work_share(took_ns) >= DOMINATES_SHARE:
                yield self._finding(cycle, spots, took_ns)

    def _finding(self, cycle: Cycle, spots: list[Spot], took_ns: int) -> Finding:
        chief = max(spots, key=lambda spot: spot.ns)
        evidence: dict[str, str | int | float] = {
            "round_trips_each_time_ns": cycle.a_trip_ns(took_ns),
            "each_time_ns": cycle.mean_ns,
            "of_the_work_share": cycle.work_share(took_ns),
            "calls": chief.calls,
        }
        idle = _idle_share(chief)
        if idle is not None:
            evidence["idle_in_it_share"] = idle
        far = far_side(spots)
        if far is not None:
            evidence["server_share"] = far.server_share
            evidence["server_section"] = far.chief.name
            evidence["server_section_share"] = far.chief_share
        return Finding(
            rule=self.name,
            claim=Claim(cycle.share(took_ns), cycle.path),
            path=chief.path,
            message=_said(cycle, spots, chief, took_ns, far),
            evidence=evidence,
        )


def _is_trip(spot: Spot) -> bool:
    """Tell whether it was seen that `spot` waits for somebody outside of the run."""
    if spot.calls < LEAST_TRIPS or spot.place.wakers():  # somebody within the run: other rules know who
        return False
    idle = _idle_share(spot)
    if idle is not None:
        return idle >= WAITS_SHARE
    # Of what is just called a robot nothing is known.
    return kind_of(spot.name) == ROUND_TRIP and _blocks(spot)


def _idle_share(spot: Spot) -> float | None:
    """Return what part of it was waited, or not spent on the CPU; None where neither was measured."""
    cpu = spot.place.node.cpu
    off_cpu = max(0.0, 1 - cpu.cpu_ns / cpu.wall_ns) if cpu is not None and cpu.wall_ns > 0 else None
    if spot.waited_share > 0:
        return max(spot.waited_share, off_cpu or 0.0)
    return off_cpu


def _blocks(spot: Spot) -> bool:
    """Tell whether the loop's thread gave up its core as often as it must to wait in each call of `spot`."""
    cycle = spot.cycle
    switches = a_tick(cycle.loop, "voluntary_switches") if cycle.loop is not None else None
    sleeps = sum(each.calls for each in cycle.spots if each.is_sleep)
    return switches is not None and switches * cycle.trips >= spot.calls + sleeps


def _said(cycle: Cycle, spots: list[Spot], chief: Spot, took_ns: int, far: FarSide | None) -> str:
    name = chief.name if len(spots) == 1 else " and ".join(spot.name for spot in _two_longest(spots))
    idle = _idle_share(chief)
    waits = f" ({percent(idle)} of {chief.name} waiting)" if idle is not None else ""
    calls = chief.calls / cycle.trips if cycle.trips else 0.0
    how_often = f", {calls:.0f} times each" if calls >= 1.5 else ""
    return (
        f"{percent(cycle.work_share(took_ns))} of the work of {cycle.name} is the round trip in {name}: "
        f"{duration(cycle.a_trip_ns(took_ns))} of {duration(cycle.a_trip_ns(cycle.work_ns))}{waits}{how_often}; "
        f"{_advice(far)}"
    )


def _advice(far: FarSide | None) -> str:
    """Say what to do; where the server told its side of the calls, what is slow there, if it is."""
    beside = "ask for the next observation while this one is worked on"
    if far is None or far.server_share < DOMINATES_SHARE:
        network = f"{percent(1 - far.server_share)} of it is the network: " if far is not None else ""
        return f"{network}{beside}, ask once for all that is needed, and make what is sent smaller"
    inside = f", {percent(far.chief_share)} its {far.chief.name}" if far.chief.name != SERVER else ""
    return (
        f"{percent(far.server_share)} of it is the server's own work{inside}: make that faster or ask for less of "
        f"it, and {beside}"
    )


def _two_longest(spots: list[Spot]) -> list[Spot]:
    return sorted(spots, key=lambda spot: spot.ns, reverse=True)[:2]
