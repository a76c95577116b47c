"""Changes: between which runs a series went to another level, by how much, and how sure that is.

A history of runs is short, noisy and full of outliers, and it is looked at again after each run: a method that is
wrong in 5% of looks cries wolf every month. So it is done in steps, the first two as in Apache Otava (Fleming,
Kolaczkowski et al., "Hunter: using change point detection to hunt for performance regressions", ICPE 2023), where weak
change points are found first and then have to stand a strict test:

1.  Logarithms are taken, so that a change is a ratio, and outliers pulled back (`noise`). The best partition into
    stretches (`partition`: PELT's criterion) under a low penalty proposes cuts. E-divisive means (Matteson and James,
    JASA 109, 2014) test by permuting the values: of ten runs there are too few permutations for a strict test to ever
    reject, and a program twice as slow would go unseen. Otava has given the permutations up as well.
2.  Each cut is tested: Student's t for the difference of two levels, after what a run keeps of the one before has been
    taken off (Prais and Winsten, "Trend estimators and serial correlation", 1954), with Bonferroni's correction for
    the choice of the place. The weakest cut falls first, and its neighbours are joined, until all that are left stand.
    Then the shift must matter: Hodges and Lehmann's, with the rank interval of `comparison.shift` on the values as
    they were measured, outliers and all.
3.  The level must have held for longer than the bursts that there were (`bursts`). One that has not is pulled back to
    the levels around it, as an outlier is, and everything begins anew: a change beside a burst is found all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ticktree.analysis.comparison.shift import Shift, between
from ticktree.analysis.comparison.verdict import verdict_of
from ticktree.analysis.comparison.welch import student_tails
from ticktree.analysis.history.bursts import SHORTEST, passing
from ticktree.analysis.history.noise import Noise, Values, noise_of, without_outliers
from ticktree.analysis.history.partition import cuts, may_begin

# Fewer runs have no rank interval on both sides of a change, wherever it was.
FEWEST = 8
# That a series without any change shows one when it is looked at.
LEVEL = 0.005
# Less than this shift between runs is what other placements in memory and other days make.
THRESHOLD = 0.05

# Of the noise's variance. A cut that lowers the cost by less is not even worth testing.
_WEAK_PENALTY = 3.0


@dataclass(frozen=True, slots=True)
class Change:
    """A series' going to another level.

    Attributes:
        at: the first value on the new level.
        earliest: the first at which it may have been as well.
        latest: the last.
        shift: from the stretch before to the stretch after.
        before: the median of the stretch before.
        after: the median of the stretch after.
        surprise: how probable such a cut were, had nothing changed.
    """

    at: int
    earliest: int
    latest: int
    shift: Shift
    before: float
    after: float
    surprise: float

    @property
    def is_slower(self) -> bool:
        """Whether durations went up."""
        return self.shift.estimate > 0


def changes(values: Sequence[float], threshold: float = THRESHOLD, level: float = LEVEL) -> list[Change]:
    """Return the changes in positive values in the order of time; none where there are too few to tell.

    Args:
        values: one of each run.
        threshold: the least shift that matters, as a part of 1.
        level: how probable it may be that a series without a change shows one.
    """
    if len(values) < FEWEST:
        return []
    logs = np.log(np.asarray(values, dtype=np.float64))
    noise = noise_of(logs)
    calm = without_outliers(logs, noise.spread)
    penalty = _WEAK_PENALTY * noise.repetition * noise.spread**2
    for _ in values:  # a burst more each time: a handful of rounds, were the series nothing but bursts
        found = _Elimination(values, calm, noise, threshold, level).run(cuts(calm, penalty, SHORTEST))
        burst = passing(logs, calm, [change.at for change in found], noise.spread)
        if burst is None:
            return found
        calm[burst.begin : burst.end] = np.clip(logs[burst.begin : burst.end], burst.low, burst.high)
    return []


class _Elimination:
    """Takes back cuts, the weakest first, until all that are left stand."""

    def __init__(
        self, values: Sequence[float], calm: Values, noise: Noise, threshold: float, level: float
    ) -> None:
        self.values, self.calm, self.noise = values, calm, noise
        self.threshold, self.level = threshold, level

    def run(self, weak: Sequence[int]) -> list[Change]:
        left = self._certain(list(weak))
        while left:
            found = [self._change(*three) for three in self._threes(left)]
            idle = [change for change in found if not self._matters(change)]
            if not idle:
                return found
            left.remove(min(idle, key=lambda change: abs(change.shift.estimate)).at)
            left = self._certain(left)
        return []

    def _certain(self, left: list[int]) -> list[int]:
        while left:
            surprises = [self._surprise(*three) for three in self._threes(left)]
            weakest = max(range(len(left)), key=surprises.__getitem__)
            if surprises[weakest] <= self.level:
                break
            del left[weakest]
        return left

    def _threes(self, left: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """For each cut where the stretch before it begins, itself, and where the one after it ends."""
        ends = [0, *left, len(self.values)]
        return zip(ends, ends[1:], ends[2:], strict=False)

    def _surprise(self, begin: int, at: int, end: int) -> float:
        """Student's test of two levels, by least squares of what is new in each value."""
        memory, count = self.noise.memory, end - begin
        levels = np.zeros((count, 2))
        levels[: at - begin, 0] = levels[at - begin :, 1] = 1.0
        table = np.column_stack([levels, self.calm[begin:end]])
        fresh = table.copy()
        fresh[1:] -= memory * table[:-1]
        fresh[0] *= math.sqrt(1 - memory**2)
        before_after, observed = fresh[:, :2], fresh[:, 2]
        inverse = np.linalg.inv(before_after.T @ before_after)
        means = inverse @ before_after.T @ observed
        squares = float(((observed - before_after @ means) ** 2).sum())
        apart = float(means[1] - means[0])
        error = math.sqrt(squares / (count - 2) * float(inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]))
        if error <= 0:
            return 0.0 if apart else 1.0
        return min(1.0, student_tails(apart / error, count - 2) * (count - 2 * SHORTEST + 1))

    def _change(self, begin: int, at: int, end: int) -> Change:
        before, after = self.values[begin:at], self.values[at:end]
        spread = self.noise.spread * math.sqrt(self.noise.repetition)
        first, last = may_begin(self.calm[begin:end], at - begin, spread)
        return Change(
            at=at,
            earliest=begin + first,
            latest=begin + last,
            shift=between(before, after),
            before=float(np.median(before)),
            after=float(np.median(after)),
            surprise=self._surprise(begin, at, end),
        )

    def _matters(self, change: Change) -> bool:
        return verdict_of(change.shift, self.threshold) in ("slower", "faster")
