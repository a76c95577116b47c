"""Rules about robot policies: preprocessing that takes long, round trips that dominate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ticktree.analysis.finding import WARNING_SHARE, Claim, Fact, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import (
    PREPROCESSING,
    ROUND_TRIP,
    inference,
    kind_of,
    per_tick_ns,
    sections_of,
)
from ticktree.analysis.server_side import server_side
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import usual_per_tick

# A guide to the real-time chunking of robot policies expects 5 to 20 ms of preprocessing for 100 to 200 ms of
# inference: at most a fifth of it, the most of the one against the least of the other.
OF_INFERENCE_SHARE = 0.2

# So much of a round trip is waited, where waits or CPU time were measured: what is on the CPU computes, whatever its
# name.
WAITS_SHARE = 0.5


class PreprocessingRule:
    """Preparing a model's input takes too long compared with the model itself.

    Finds each loop's preprocessing where it is out of proportion; see docs/rules/preprocessing.md.
    """

    name: ClassVar[str] = "preprocessing"

    def find(self, context: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop in which preprocessing takes a tenth and too much for its inference."""
        for view in context.repeated:
            sections = sections_of(view, PREPROCESSING, context, lambda section: section.count >= LEAST_TICKS)
            prepared_ns = per_tick_ns(sections)
            if not sections or view.share(prepared_ns) < WARNING_SHARE:
                continue
            model = inference(view, context)
            inside = [section for section in sections if any(above in model for above in section.above())]
            model_ns = per_tick_ns(model) - per_tick_ns(inside)
            if model_ns > 0 and prepared_ns > OF_INFERENCE_SHARE * model_ns:
                yield self._finding(view, sections, model_ns)
            elif model_ns <= 0 and _dominates(view, prepared_ns):
                yield self._finding(view, sections, None)

    def _finding(self, view: LoopView, sections: Sequence[SectionView], model_ns: float | None) -> Finding:
        longest = max(sections, key=lambda section: section.total_ns)
        prepared_ns = per_tick_ns(sections)
        facts: dict[str, Fact] = {
            "section": longest.path,
            "preprocessing_per_tick_ns": prepared_ns,
            "tick_ns": view.tick_ns,
            "busy_share": view.needed_share(prepared_ns),
            "section_per_tick_ns": longest.total_ns,
            "per_call_ns": longest.call_ns,
            "calls": longest.count,
        }
        if model_ns is not None:
            facts |= {"inference_per_tick_ns": model_ns, "of_inference_share": prepared_ns / model_ns}
        if longest.bytes_per_call is not None:
            facts |= {
                "per_call_bytes": longest.bytes_per_call,
                "section_bytes_per_s": longest.bytes_per_s or 0.0,
            }
        claim = Claim(view.share(prepared_ns), view.path)
        return Finding(rule=self.name, claim=claim, path=longest.path, facts=facts)


def _dominates(view: LoopView, prepared_ns: float) -> bool:
    # A section that is no loop may be a helper whose only task is to prepare what another one uses.
    return view.loop is not None and view.needed_share(prepared_ns) >= DOMINATES_SHARE


class RoundTripRule:
    """The round trip to the robot, or over the network, is most of a loop.

    Finds each loop of which half or more of the busy time is a round trip; see docs/rules/round-trip.md.
    """

    name: ClassVar[str] = "round-trip"

    def find(self, context: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop that is mostly spent on round trips."""
        for view in context.repeated:
            sections = sections_of(view, ROUND_TRIP, context, _is_trip)
            if sections and view.needed_share(per_tick_ns(sections)) >= DOMINATES_SHARE:
                yield self._finding(view, sorted(sections, key=lambda section: -section.total_ns))

    def _finding(self, view: LoopView, sections: Sequence[SectionView]) -> Finding:
        longest, trips_ns = sections[0], per_tick_ns(sections)
        facts: dict[str, Fact] = {
            "section": longest.path,
            "round_trips_per_tick_ns": trips_ns,
            "needed_per_tick_ns": view.needed_ns,
            "busy_share": view.needed_share(trips_ns),
            "calls_per_tick": longest.calls,
            "calls": longest.count,
        }
        if len(sections) > 1:
            facts["second_section"] = sections[1].path
        idle = _idle_share(longest)
        if idle is not None:
            facts["waited_share"] = idle
        server = server_side(sections)
        if server is not None:
            facts |= {
                "server_share": server.server_share,
                "server_part": server.longest.name,
                "server_part_share": server.longest_share,
            }
        claim = Claim(view.share(trips_ns), view.path)
        return Finding(rule=self.name, claim=claim, path=longest.path, facts=facts)


def _is_trip(section: SectionView) -> bool:
    """Tell whether `section` was seen to wait for something outside of the run."""
    if section.count < LEAST_TICKS or section.wakers():  # a process of the run: other rules name it
        return False
    idle = _idle_share(section)
    if idle is not None:
        return idle >= WAITS_SHARE
    # A user's own category says what a section is, not that it waits.
    return kind_of(section.name) == ROUND_TRIP and _blocks(section)


def _idle_share(section: SectionView) -> float | None:
    """Return what part of it was waited, or not spent on the CPU; None where neither was measured."""
    cpu = section.node.cpu
    off_cpu = max(0.0, 1 - cpu.cpu_ns / cpu.wall_ns) if cpu is not None and cpu.wall_ns > 0 else None
    return max(section.waited_share, off_cpu or 0.0) if section.waited_share > 0 else off_cpu


def _blocks(section: SectionView) -> bool:
    """Tell whether the loop's thread gave up its core as often as it must to wait in each call of `section`."""
    view = section.view
    switches = usual_per_tick(view.loop, "voluntary_switches") if view.loop is not None else None
    sleeps = sum(each.calls for each in view.path_sections if each.is_slack)
    return switches is not None and switches >= section.calls + sleeps
