"""The round trip to the robot, or over the network, is most of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import ROUND_TRIP, kind_of, sections_of, together_ns
from ticktree.analysis.server_side import SERVER, FarSide, far_side
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import a_tick
from ticktree.analysis.wording import duration, percent

# So much of a trip is waited, where waits or CPU time were measured: who is on the CPU computes, whatever the name.
WAITS_SHARE = 0.5


class RoundTripRule:
    """Each loop that is mostly spent on the way to something else; see docs/rules/round-trip.md."""

    name: ClassVar[str] = "round-trip"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop of whose work half or more is robot or network."""
        for view in seen.repeated:
            sections = sections_of(view, ROUND_TRIP, seen, _is_trip)
            took_ns = together_ns(sections)
            if sections and view.needed_share(took_ns) >= DOMINATES_SHARE:
                yield self._finding(view, sections, took_ns)

    def _finding(self, view: LoopView, sections: list[SectionView], took_ns: float) -> Finding:
        chief = max(sections, key=lambda section: section.total_ns)
        evidence: dict[str, str | int | float] = {
            "round_trips_each_time_ns": took_ns,
            "each_time_ns": view.tick_ns,
            "of_the_work_share": view.needed_share(took_ns),
            "calls": chief.count,
        }
        idle = _idle_share(chief)
        if idle is not None:
            evidence["idle_in_it_share"] = idle
        far = far_side(sections)
        if far is not None:
            evidence["server_share"] = far.server_share
            evidence["server_section"] = far.chief.name
            evidence["server_section_share"] = far.chief_share
        return Finding(
            rule=self.name,
            claim=Claim(view.share(took_ns), view.path),
            path=chief.path,
            message=_said(view, sections, chief, took_ns, far),
            evidence=evidence,
        )


def _is_trip(section: SectionView) -> bool:
    """Tell whether it was seen that `section` waits for somebody outside of the run."""
    if section.count < LEAST_TICKS or section.wakers():  # somebody within the run: other rules know who
        return False
    idle = _idle_share(section)
    if idle is not None:
        return idle >= WAITS_SHARE
    # Of what is just called a robot nothing is known.
    return kind_of(section.name) == ROUND_TRIP and _blocks(section)


def _idle_share(section: SectionView) -> float | None:
    """Return what part of it was waited, or not spent on the CPU; None where neither was measured."""
    cpu = section.node.cpu
    off_cpu = max(0.0, 1 - cpu.cpu_ns / cpu.wall_ns) if cpu is not None and cpu.wall_ns > 0 else None
    if section.waited_share > 0:
        return max(section.waited_share, off_cpu or 0.0)
    return off_cpu


def _blocks(section: SectionView) -> bool:
    """Tell whether the loop's thread gave up its core as often as it must to wait in each call of `section`."""
    view = section.view
    switches = a_tick(view.loop, "voluntary_switches") if view.loop is not None else None
    sleeps = sum(each.calls for each in view.path_sections if each.is_slack)
    return switches is not None and switches >= section.calls + sleeps


def _said(
    view: LoopView, sections: list[SectionView], chief: SectionView, took_ns: float, far: FarSide | None
) -> str:
    name = (
        chief.name if len(sections) == 1 else " and ".join(section.name for section in _two_longest(sections))
    )
    idle = _idle_share(chief)
    waits = f" ({percent(idle)} of {chief.name} waiting)" if idle is not None else ""
    how_often = f", {chief.calls:.0f} times each" if chief.calls >= 1.5 else ""
    return (
        f"{percent(view.needed_share(took_ns))} of the work of {view.name} is the round trip in {name}: "
        f"{duration(took_ns)} of {duration(view.needed_ns)}{waits}{how_often}; "
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


def _two_longest(sections: list[SectionView]) -> list[SectionView]:
    return sorted(sections, key=lambda section: section.total_ns, reverse=True)[:2]
