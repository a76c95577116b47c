"""Merging new actions into the queue of those still to do is slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, SectionView
from ticktree.analysis.section_kinds import QUEUE_MERGE, inference, sections_of, together_ns
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import growth
from ticktree.analysis.wording import duration, percent, times

# What follows inference is expected to take 1 to 5 ms where it takes 100 to 200: at most a twentieth of it. (Of a
# guide to real-time chunking; it gives no number for the merge itself, which does less than the rest that
# follows.)
OF_INFERENCE_SHARE = 0.05
# And it must be so much of its tick, inference there or not. Our own choice.
OF_THE_TICK_SHARE = 0.05
# Who waits for more than half of the time waits for the other thread; else it works.
MOSTLY_SHARE = 0.5
# From twice as long on a call is said to grow: noise and other load seldom double the mean of a third of a run.
GROWS_FACTOR = 2.0


class QueueMergeRule:
    """Each merge of actions that takes too long; see docs/rules/queue-merge.md."""

    name: ClassVar[str] = "queue-merge"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each merge that takes a twentieth of its tick and of the inference it follows."""
        for view in seen.repeated:
            merges = [
                section for section in sections_of(view, QUEUE_MERGE, seen) if section.count >= LEAST_TICKS
            ]
            model_ns = together_ns(inference(view, seen))
            for section in merges:
                is_long = (
                    section.share >= OF_THE_TICK_SHARE and section.total_ns >= OF_INFERENCE_SHARE * model_ns
                )
                if is_long:
                    yield self._finding(section, model_ns)

    def _finding(self, section: SectionView, model_ns: float) -> Finding:
        grown = growth(section.node)
        evidence: dict[str, str | int | float] = {
            "a_call_ns": section.call_ns,
            "calls": section.count,
        }
        if model_ns > 0:
            evidence["of_inference_share"] = section.total_ns / model_ns
        if section.waited_share > 0:
            evidence["waited_share"] = section.waited_share
        if grown is not None:
            evidence["as_long_at_the_end_factor"] = grown
        return Finding(
            rule=self.name,
            claim=Claim(section.share, section.view.path),
            path=section.path,
            message=_said(section, model_ns, grown),
            evidence=evidence,
        )


def _said(section: SectionView, model_ns: float, grown: float | None) -> str:
    text = f"{section.name} takes {duration(section.call_ns)} a call, {percent(section.share)} of {section.view.name}"
    if model_ns > 0:
        text += f" and {percent(section.total_ns / model_ns)} as long as the inference it follows"
    if section.waited_share > MOSTLY_SHARE:
        return (
            f"{text}; {percent(section.waited_share)} of that it waits: hold the queue's lock only to swap the "
            "finished chunk in, and make the chunk before"
        )
    if grown is not None and grown >= GROWS_FACTOR:
        return (
            f"{text}, {times(grown)} as long at the end of the run as at its beginning: what it goes over grows; "
            "drop what was executed, or use a ring of fixed size"
        )
    return f"{text}: write the new chunk into a ring of fixed size instead of building the queue anew"
