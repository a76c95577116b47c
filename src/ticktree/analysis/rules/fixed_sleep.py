"""A loop sleeps a fixed time in each tick and so does not hold its rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.loops import LEAST_TICKS, LoopView
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import a_tick
from ticktree.analysis.wording import duration

# A sleep wakes a little late: on a busy machine by a tenth of a millisecond or two. Our own choice.
LATE_SHARE = 0.05
# A thread that sleeps once per tick gives up its core once per tick; a few ticks may be without.
SLEEPS_PER_TICK = 0.9


class FixedSleepRule:
    """Each loop that would hold its rate if it slept only what is left of a tick; see docs/rules/fixed-sleep.md."""

    name: ClassVar[str] = "fixed-sleep"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop whose ticks are too long by less than it sleeps in them."""
        for view in seen.loops:
            loop = view.loop
            if loop is None or loop.budget_ns is None or view.ticks < LEAST_TICKS:
                continue
            over_ns = view.tick_ns - loop.budget_ns
            slept_ns = _slept_ns(view)
            works_ns = view.tick_ns - slept_ns
            if over_ns < LATE_SHARE * loop.budget_ns or slept_ns < over_ns or works_ns > loop.budget_ns:
                continue
            yield Finding(
                rule=self.name,
                claim=Claim(over_ns / view.tick_ns, view.path),
                path=view.path,
                message=(
                    f"{loop.name} takes {duration(view.tick_ns)} per tick where there are "
                    f"{duration(loop.budget_ns)}, and works for {duration(works_ns)} of it: a fixed sleep does not "
                    "hold a rate; sleep only what is left of the tick, or let the loop do it with pace=True"
                ),
                evidence={
                    "slept_in_a_tick_ns": round(slept_ns),
                    "budget_ns": loop.budget_ns,
                    "ticks": view.ticks,
                },
            )


def _slept_ns(view: LoopView) -> float:
    """Return what a tick slept: as recorded, or its own time where its thread gives up its core in each tick."""
    if view.slack_ns or view.loop is None:
        return 0.0 if view.misses else view.slack_ns
    switches = a_tick(view.loop, "voluntary_switches")
    sleeps = switches is not None and switches >= SLEEPS_PER_TICK
    return view.sections[0].self_ns if sleeps else 0.0
