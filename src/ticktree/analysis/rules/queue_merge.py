"""Merging new actions into the queue of those still to do is slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.cycles.cycle import LEAST_TRIPS, Spot
from ticktree.analysis.cycles.growth import growth
from ticktree.analysis.cycles.kinds import QUEUE_MERGE, inference, spots_of, together_ns
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent, times

# What follows inference is expected to take 1 to 5 ms where it takes 100 to 200: at most a twentieth of it. (Of a
# guide to real-time chunking; it gives no number for the merge itself, which does less than the rest that
# follows.)
OF_INFERENCE_SHARE = 0.05
# And it must be so much of its cycle, inference there or not. Our own choice.
OF_THE_CYCLE_SHARE = 0.05
# Who waits for more than half of the time waits for the other thread; else it works.
MOSTLY_SHARE = 0.5
# From twice as long on a call is said to grow: noise and other load seldom double the mean of a third of a run.
GROWS_FACTOR = 2.0


class QueueMergeRule:
    """Each merge of actions that takes too long; see docs/rules/queue-merge.md."""

    name: ClassVar[str] = "queue-merge"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each merge that takes a twentieth of its cycle and of the inference it follows."""
        for cycle in seen.cycles:
            merges = [spot for spot in spots_of(cycle, QUEUE_MERGE, seen) if spot.calls >= LEAST_TRIPS]
            model_ns = together_ns(inference(cycle, seen))
            for spot in merges:
                is_long = spot.share >= OF_THE_CYCLE_SHARE and spot.ns >= OF_INFERENCE_SHARE * model_ns
                if is_long:
                    yield self._finding(spot, model_ns)

    def _finding(self, spot: Spot, model_ns: int) -> Finding:
        grown = growth(spot.place.node)
        evidence: dict[str, str | int | float] = {
            "a_call_ns": spot.mean_ns,
            "calls": spot.calls,
        }
        if model_ns > 0:
            evidence["of_inference_share"] = spot.ns / model_ns
        if spot.waited_share > 0:
            evidence["waited_share"] = spot.waited_share
        if grown is not None:
            evidence["as_long_at_the_end_factor"] = grown
        return Finding(
            rule=self.name,
            claim=Claim(spot.share, spot.cycle.path),
            path=spot.path,
            message=_said(spot, model_ns, grown),
            evidence=evidence,
        )


def _said(spot: Spot, model_ns: int, grown: float | None) -> str:
    text = f"{spot.name} takes {duration(spot.mean_ns)} a call, {percent(spot.share)} of {spot.cycle.name}"
    if model_ns > 0:
        text += f" and {percent(spot.ns / model_ns)} as long as the inference it follows"
    if spot.waited_share > MOSTLY_SHARE:
        return (
            f"{text}; {percent(spot.waited_share)} of that it waits: hold the queue's lock only to swap the finished "
            "chunk in, and make the chunk before"
        )
    if grown is not None and grown >= GROWS_FACTOR:
        return (
            f"{text}, {times(grown)} as long at the end of the run as at its beginning: what it goes over grows; "
            "drop what was executed, or use a ring of fixed size"
        )
    return f"{text}: write the new chunk into a ring of fixed size instead of building the queue anew"
