"""Every tick takes fresh memory from the system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.cycles.cycle import LEAST_TRIPS, Cycle, Spot
from ticktree.analysis.cycles.per_tick import FAULT_NS, a_tick
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, size

PAGE_BYTES = 4096
# A megabyte a tick: less is what any program takes and gives back. Our own choice.
LEAST_FAULTS = 256
# And it must cost a twentieth of the tick, for the cost of a fault is reckoned, not measured. Our own choice.
LEAST_SHARE = 0.05
# A section that says it goes over so much of the fresh memory is named. Our own choice.
NAMED_SHARE = 0.5


class AllocationRule:
    """Each loop whose ticks touch fresh memory; see docs/rules/allocation.md."""

    name: ClassVar[str] = "allocation"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop in which page faults cost a twentieth of a tick."""
        for cycle in seen.cycles:
            faults = a_tick(cycle.loop, "minor_faults") if cycle.loop is not None else None
            if faults is None or cycle.trips < LEAST_TRIPS or faults < LEAST_FAULTS:
                continue
            at_stake = min(1.0, faults * FAULT_NS / max(1, cycle.mean_ns))
            if at_stake >= LEAST_SHARE:
                yield self._finding(cycle, faults, at_stake)

    def _finding(self, cycle: Cycle, faults: float, at_stake: float) -> Finding:
        named = _where(cycle, faults)
        where = (
            f", perhaps in {named.name} at {size(named.bytes_per_s or 0)} a second"
            if named is not None
            else ""
        )
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, cycle.path),
            path=named.path if named is not None else cycle.path,
            message=(
                f"each {cycle.trip} touches at least {size(faults * PAGE_BYTES)} of fresh memory"
                f" ({faults:,.0f} page faults)"
                f"{where}, which costs about {duration(faults * FAULT_NS)} of its {duration(cycle.mean_ns)}: allocate "
                "before the loop and write into the same memory each time (`out=`, `copy_`), or have it kept"
            ),
            evidence={
                "page_faults_each_time": faults,
                "fresh_bytes": faults * PAGE_BYTES,
                "reckoned_for_a_fault_ns": FAULT_NS,
                "each_time_ns": cycle.mean_ns,
            },
        )


def _where(cycle: Cycle, faults: float) -> Spot | None:
    """Return the section that may well touch the fresh memory: of those that go over as much, the slowest."""
    enough = [spot for spot in cycle.spots if _written(spot) >= NAMED_SHARE * faults * PAGE_BYTES]
    return min(enough, key=lambda spot: spot.bytes_per_s or 0.0, default=None)


def _written(spot: Spot) -> float:
    """Return how many bytes `spot` says it goes over each trip; 0 where it does not say."""
    return (spot.bytes_a_call or 0.0) * spot.calls / spot.cycle.trips
