"""Too few actions of each inference are used for it to pay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.action_chunks import executes_chunks
from ticktree.analysis.finding import WARNING_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import inference
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent

# A guide to real-time chunking asks for an execution horizon of at least 10 to 20 actions.
LEAST_HORIZON = 10
# A policy that is asked in every tick executes no chunks, whatever its section is called.
LEAST_USED = 1.5


class HorizonRule:
    """Each loop that infers a chunk of actions too often; see docs/rules/horizon.md."""

    name: ClassVar[str] = "horizon"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop of whose chunks fewer than ten actions are executed, if that costs it."""
        for view in seen.repeated:
            model = inference(view, seen)
            if view.loop is None or not model or not executes_chunks(view, seen):
                continue
            chief = max(model, key=lambda section: section.total_ns)
            used = view.ticks / chief.count if chief.count >= LEAST_TICKS else LEAST_HORIZON
            at_stake = chief.share * (1 - used / LEAST_HORIZON)
            if LEAST_USED <= used < LEAST_HORIZON and at_stake >= WARNING_SHARE:
                yield self._finding(view, chief, used, at_stake)

    def _finding(self, view: LoopView, chief: SectionView, used: float, at_stake: float) -> Finding:
        each_ns = chief.total_ns
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, view.path),
            path=chief.path,
            message=(
                f"each {chief.name} ({duration(chief.call_ns)}) serves {used:.3g} ticks of {view.name}, so it costs "
                f"each of them {duration(each_ns)}, {percent(chief.share)} of the loop: execute at least "
                f"{LEAST_HORIZON} actions of a chunk, and it costs {duration(chief.call_ns / LEAST_HORIZON)}"
            ),
            evidence={
                "actions_used_of_each_inference": used,
                "a_call_ns": chief.call_ns,
                "of_the_loop_share": chief.share,
                "inferences": chief.count,
                "ticks": view.ticks,
            },
        )
