"""Python's garbage collector stops a loop: often, or just when it matters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, last_name, percent
from ticktree.profile import Loop

# Of the ticks' time. Half of the programs that mind it at all mind it from about here on, and it costs one line.
LEAST_SHARE = 0.02
# A worst tick is the collector's doing where its pause explains so much of what the tick took beyond the median.
EXPLAINS_SHARE = 0.5
# One of the worst ticks may be chance; of those kept, this many are a habit.
FEWEST_WORST = 2


class GarbageCollectionRule:
    """Each loop that the collector stops for long, or in its worst ticks; see docs/rules/garbage-collection.md."""

    name: ClassVar[str] = "garbage-collection"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop whose pauses are 2% of its ticks, or make its worst ones."""
        for _, loop in sorted(seen.profile.loops.items()):
            share = _share(loop)
            worst = _worst(loop)
            if share < LEAST_SHARE and len(worst) < FEWEST_WORST:
                continue
            yield Finding(
                rule=self.name,
                claim=Claim(share, loop.path),
                path=loop.path,
                message=_said(loop, share, worst),
                evidence={
                    "of_the_ticks_share": share,
                    **({"longest_pause_in_a_tick_ns": max(worst)} if worst else {}),
                },
            )


def _share(loop: Loop) -> float:
    """Return what part of the ticks' time was pauses; 0 where it is not known of enough ticks."""
    if loop.causes is None or not loop.causes.ticks or not loop.stats.sum_ns:
        return 0.0
    known_ns = loop.stats.sum_ns * loop.causes.ticks / loop.stats.count
    return min(1.0, loop.causes.gc_ns / known_ns) if known_ns else 0.0


def _worst(loop: Loop) -> list[int]:
    """Return the pauses that made ticks the worst."""
    usual_ns = loop.stats.p50_ns
    if usual_ns is None:
        return []
    return [
        tick.causes["gc_ns"]
        for tick in loop.worst
        if tick.duration_ns > usual_ns
        and tick.causes.get("gc_ns", 0) >= EXPLAINS_SHARE * (tick.duration_ns - usual_ns)
    ]


def _said(loop: Loop, share: float, worst: list[int]) -> str:
    parts = []
    if share >= LEAST_SHARE:
        parts.append(f"takes {percent(share)} of {last_name(loop.path)}")
    if len(worst) >= FEWEST_WORST:
        made = f"makes {len(worst)} of the {len(loop.worst)} worst ticks"
        of = "" if parts else f" of {last_name(loop.path)}"
        parts.append(f"{made}{of}, with pauses of up to {duration(max(worst))}")
    remedy = "gc.freeze() once all is built, gc.disable() in the loop and gc.collect() where there is time"
    return f"the garbage collector {' and '.join(parts)}: {remedy}, or fewer objects that hold others"
