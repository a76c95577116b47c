"""The verdict: whether real-time chunking is slower, faster, or whether these runs cannot tell."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ticktree.profile import Stats

# A difference of at least this many standard errors is significant.
ERRORS = 3.0
# The quartiles of a normal distribution lie so far apart, in deviations; and its median is so much less certain than
# its mean.
_QUARTILES, _MEDIAN = 1.349, 1.2533


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two ways take, in nanoseconds.

    Attributes:
        plain: median without.
        guided: median with.
        error: standard error of their difference.
    """

    plain: float
    guided: float
    error: float

    @property
    def ratio(self) -> float:
        """How many times as long it takes with."""
        return self.guided / self.plain

    @property
    def word(self) -> str:
        """`slower`, `faster` or `cannot tell`."""
        difference = self.guided - self.plain
        if abs(difference) <= ERRORS * self.error:
            return "cannot tell"
        return "slower" if difference > 0 else "faster"

    def __str__(self) -> str:
        if self.word == "cannot tell":
            return (
                f"cannot tell: {self.ratio:.2f} times as long with chunking, but that is within the noise of "
                f"+-{ERRORS * self.error / self.plain:.0%}; more iterations, or a quieter machine"
            )
        return f"inference is {self.word} with real-time chunking: {self.ratio:.2f} times as long"


def judge(plain: Stats, guided: Stats) -> Verdict | None:
    """Return the verdict; None where one of them has no calls."""
    if plain.p50_ns is None or guided.p50_ns is None:
        return None
    return Verdict(plain.p50_ns, guided.p50_ns, math.hypot(_median_error(plain), _median_error(guided)))


def _median_error(stats: Stats) -> float:
    """Return the standard error of a median, from the quartiles: a stall or two leave those alone."""
    low, high = stats.quantile_ns(0.25), stats.quantile_ns(0.75)
    if low is None or high is None or stats.count < 2:
        return math.inf
    return _MEDIAN * (high - low) / _QUARTILES / math.sqrt(stats.count)
