"""Too few ticks were recorded to say what they say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding
from ticktree.analysis.survey import Survey
from ticktree.profile import Loop

# A guide to profiling control loops asks for at least ten iterations before any of its output is believed.
LEAST_TICKS = 10
# How sure one wants to be that the longest of n ticks lies above a percentile; see `ticks_for`.
CONFIDENCE = 0.95
PERCENTILES = (0.5, 0.9, 0.99)


class TooFewTicksRule:
    """Each loop too short for what is shown of it, and what may be believed; see docs/rules/too-few-ticks.md."""

    name: ClassVar[str] = "too-few-ticks"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop with too few steady ticks for its p90; with a rate to hold, for its p99."""
        for loop in seen.profile.loops.values():
            ticks = loop.stats.count
            needed = ticks_for(PERCENTILES[2] if loop.hz else PERCENTILES[1])
            if loop.ticks and ticks < needed:
                yield self._finding(loop, ticks)

    def _finding(self, loop: Loop, ticks: int) -> Finding:
        wanted = next(q for q in PERCENTILES if ticks < ticks_for(q))
        return Finding(
            rule=self.name,
            kind="measurement",
            path=loop.path,
            message=_said(loop, ticks),
            evidence={
                "steady_ticks": ticks,
                "warmup_ticks": loop.warmup_ticks,
                f"ticks_for_its_p{100 * wanted:.0f}": ticks_for(wanted),
            },
        )


def ticks_for(q: float) -> int:
    """Return how many ticks the quantile `q` needs: with fewer, all of them may well lie below it.

    All of n independent ticks lie below it with probability q ** n, and then what is called the percentile is too
    small, whatever it is. With 1 - q ** n >= 95% that is unlikely: S. S. Wilks, "Determination of sample sizes for
    setting tolerance limits", Annals of Mathematical Statistics 12 (1941): 5 ticks for the median, 29 for p90, 299
    for p99. Ticks that resemble the ones before them say less, so these are the fewest.
    """
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(q))


def _said(loop: Loop, ticks: int) -> str:
    after = " after its warm-up" if loop.warmup_ticks else ""
    few = f"{loop.name} has {ticks:,} tick{'' if ticks == 1 else 's'}{after}"
    if ticks < LEAST_TICKS:
        return f"{few}: too few to say anything; record at least {LEAST_TICKS}, {ticks_for(PERCENTILES[2])} for a p99"
    wanted = next(q for q in PERCENTILES if ticks < ticks_for(q))
    believed = [f"p{100 * q:.0f}" for q in PERCENTILES if ticks >= ticks_for(q)]
    return (
        f"{few}: its mean and {' and '.join(believed)} can be believed; its p{100 * wanted:.0f} is little more than "
        f"its longest tick, and needs {ticks_for(wanted)}"
    )
