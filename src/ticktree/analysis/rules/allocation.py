"""Every tick takes fresh memory from the system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import FAULT_NS, a_tick
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
        for view in seen.repeated:
            faults = a_tick(view.loop, "minor_faults") if view.loop is not None else None
            if faults is None or view.ticks < LEAST_TICKS or faults < LEAST_FAULTS:
                continue
            at_stake = min(1.0, faults * FAULT_NS / max(1, view.tick_ns))
            if at_stake >= LEAST_SHARE:
                yield self._finding(view, faults, at_stake)

    def _finding(self, view: LoopView, faults: float, at_stake: float) -> Finding:
        named = _where(view, faults)
        where = (
            f", perhaps in {named.name} at {size(named.bytes_per_s or 0)} a second"
            if named is not None
            else ""
        )
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, view.path),
            path=named.path if named is not None else view.path,
            message=(
                f"each {view.tick} touches at least {size(faults * PAGE_BYTES)} of fresh memory"
                f" ({faults:,.0f} page faults)"
                f"{where}, which costs about {duration(faults * FAULT_NS)} of its {duration(view.tick_ns)}: allocate "
                "before the loop and write into the same memory each time (`out=`, `copy_`), or have it kept"
            ),
            evidence={
                "page_faults_each_time": faults,
                "fresh_bytes": faults * PAGE_BYTES,
                "reckoned_for_a_fault_ns": FAULT_NS,
                "each_time_ns": view.tick_ns,
            },
        )


def _where(view: LoopView, faults: float) -> SectionView | None:
    """Return the section that may well touch the fresh memory: of those that go over as much, the slowest."""
    enough = [
        section for section in view.path_sections if _written(section) >= NAMED_SHARE * faults * PAGE_BYTES
    ]
    return min(enough, key=lambda section: section.bytes_per_s or 0.0, default=None)


def _written(section: SectionView) -> float:
    """Return how many bytes `section` says it goes over in each tick; 0 where it does not say."""
    return (section.bytes_per_call or 0.0) * section.calls
