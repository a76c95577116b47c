"""Guiding a policy's new actions by the old ones costs more than it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ticktree.analysis.action_chunks import queue_depth
from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import GUIDANCE, inference, sections_of, together_ns
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent
from ticktree.profile import Gauge, Loop

# What guidance costs at least where nothing is wasted: of an inference of SmolVLA on one thread it took 33% as it
# comes (87 ms with it, 58 without) and 25% with the policy's parameters frozen (77 ms), measured here.
OF_INFERENCE_SHARE = 0.25
# So few readings may be below what is called the queue's low: it is empty when a run begins.
LOW = 0.05
# With twice the actions in hand that one inference takes, it may take twice as long before anybody waits. Our own
# choice.
IN_HAND_FACTOR = 2.0
# From so many empty readings on, as a part and as a number, the queue runs empty; the first few are the run's
# beginning. (Without guided chunks 3.7 to 5.7% of the ticks of a 30 Hz loop were without an action, measured here.)
EMPTY_SHARE = 0.01
EMPTY_READINGS = 10


@dataclass(frozen=True, slots=True)
class _Guided:
    """An inference that is guided.

    Attributes:
        chief: the section that guides, of several that which takes most.
        ns: what guidance takes per tick.
        inference_ns: what inference takes with it.
        calls: inferences per tick.
    """

    chief: SectionView
    ns: float
    inference_ns: float
    calls: float

    @property
    def share(self) -> float:
        """What part of inference it is."""
        return self.ns / self.inference_ns

    @property
    def latency_ns(self) -> float:
        """What one inference takes."""
        return self.inference_ns / self.calls


class GuidanceRule:
    """Each guided inference whose queue of actions tells that it does not pay; see docs/rules/guidance.md."""

    name: ClassVar[str] = "guidance"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding where guidance is dear and the queue is never short of actions, or is empty all the same."""
        depth = queue_depth(seen.profile)
        if depth is None or depth.count < LEAST_TICKS:
            return
        for view in seen.repeated:
            guided = _guided(view, seen)
            if guided is None or guided.share < OF_INFERENCE_SHARE or view.share(guided.ns) < LEAST_SHARE:
                continue
            loop = _control(view, seen)
            why = _empty(depth) or (_in_hand(depth, guided, loop) if loop is not None else None)
            if why is not None:
                yield self._finding(guided, depth, why, is_in_the_loop=loop is view.loop)

    def _finding(self, guided: _Guided, depth: Gauge, why: str, *, is_in_the_loop: bool) -> Finding:
        view, each_ns = guided.chief.view, guided.ns / guided.calls
        evidence: dict[str, str | int | float] = {
            "guidance_each_time_ns": round(each_ns),
            "inference_ns": round(guided.latency_ns),
            "readings_at_0": depth.zeros,
            "readings_of_the_queue": depth.count,
        }
        low = depth.quantile(LOW)
        if low is not None:
            evidence["in_the_queue_at_its_low"] = low
        return Finding(
            rule=self.name,
            claim=Claim(view.share(guided.ns), view.path) if is_in_the_loop else None,
            path=guided.chief.path,
            message=(
                f"{guided.chief.name} is {duration(each_ns)} of each inference of {duration(guided.latency_ns)} "
                f"({percent(guided.share)}), {why}; freeze the policy's parameters while it is computed, compile it, "
                "or do without: whether it makes motion smoother, no profile can tell"
            ),
            evidence=evidence,
        )


def _guided(view: LoopView, seen: Survey) -> _Guided | None:
    """Return the guidance in `view`; None where there is none, or no inference."""
    guides, model = sections_of(view, GUIDANCE, seen), inference(view, seen)
    model = [section for section in model if not any(each in guides for each in (section, *section.above()))]
    calls = max((section.calls for section in model), default=0)
    if not guides or calls * view.ticks < LEAST_TICKS:
        return None
    beside = [section for section in guides if not any(each in model for each in section.above())]
    whole_ns = together_ns(model) + together_ns(beside)
    chief = max(guides, key=lambda section: section.total_ns)
    return _Guided(chief, together_ns(guides), whole_ns, calls) if whole_ns > 0 else None


def _control(view: LoopView, seen: Survey) -> Loop | None:
    """Return the loop that executes the actions: the only one with a rate; else the one that infers."""
    paced = [loop for loop in seen.profile.loops.values() if loop.budget_ns is not None]
    return paced[0] if len(paced) == 1 else view.loop if not paced else None


def _empty(depth: Gauge) -> str | None:
    """Return how it is said that the queue ran empty; None where it hardly ever did."""
    if depth.zeros < EMPTY_READINGS or depth.zeros < EMPTY_SHARE * depth.count:
        return None
    empty = percent(depth.zeros / depth.count)
    return f"and {depth.name} is 0 in {empty} of its readings all the same: with a shorter inference it would be less"


def _in_hand(depth: Gauge, guided: _Guided, loop: Loop) -> str | None:
    """Return how it is said that the queue always held far more than an inference takes; None where it did not."""
    period_ns, low = loop.budget_ns or loop.stats.mean_ns, depth.quantile(LOW)
    if not period_ns or low is None:
        return None
    ticks = guided.latency_ns / period_ns
    if low < IN_HAND_FACTOR * max(1.0, ticks):
        return None
    return (
        f"but {depth.name} is hardly ever below {low:.3g}, where an inference takes {ticks:.2g} ticks: "
        "there was time to execute the old chunk to its end"
    )
