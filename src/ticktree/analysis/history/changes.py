"""Changes: between which runs a series went to another level, by how much, and how sure that is.

A history of runs is short, noisy and full of outliers, and it is looked at again after each run: a method that is
wrong in 5% of looks cries wolf every month. So it is done in steps, the first two as in Apache Otava (Fleming,
Kolaczkowski et al., "Hunter: using change point detection to hunt for performance regressions", ICPE 2023), where weak
change points are found first and then have to stand a strict test:

1.  Logarithms are taken, so that a change is a ratio, and outliers pulled back (`noise_of`). The best partition into
    stretches (`cuts`: PELT's criterion) under a low penalty proposes cuts. E-divisive means (Matteson and James,
    JASA 109, 2014) test by permuting the values: of ten runs there are too few permutations for a strict test to ever
    reject, and a program twice as slow would go unseen. Otava has given the permutations up as well.
2.  Each cut is tested: Student's t for the difference of two levels, after what a run keeps of the one before has been
    taken off (Prais and Winsten, "Trend estimators and serial correlation", 1954), with Bonferroni's correction for
    the choice of the place. The weakest cut falls first, and its neighbours are joined, until all that are left stand.
    Then the shift must matter: Hodges and Lehmann's, with the rank interval of `comparison.shift` on the values as
    they were measured, outliers and all.
3.  The level must have held for longer than the bursts that there were (`passing`). One that has not is pulled back to
    the levels around it, as an outlier is, and the search starts again: a change next to a burst is still found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ticktree.analysis.comparison.entry import verdict_of
from ticktree.analysis.comparison.shift import Shift, between
from ticktree.analysis.comparison.welch import student_tails
from ticktree.analysis.drift.statistics import DEVIATIONS

Values: TypeAlias = npt.NDArray[np.float64]

# Noise: how much values in a row differ where nothing changed, told from the values themselves, changes and all.
#
# Every number here rests on differences, of neighbours and of those next to them: a change touches one of the former
# and two of the latter, an outlier twice as many, and what sticks out is left out. That the two kinds of differences
# tell how much of a value the next one remembers, whatever changes there are, is from Chakar, Lebarbier, Levy-Leduc
# and Robin, "A robust approach for estimating change-points in the mean of an AR(1) process" (Bernoulli 23(2), 2017).
# They take medians of squares, which of twenty runs are as good as chance; here it is the mean of what does not stick
# out.

# Of fewer values a memory cannot be told from chance.
_FEWEST = 8
# More would take every change for the noise's own wandering.
_MOST_MEMORY = 0.6
# Below this no clock and no program repeats itself; it keeps divisions by nothing away.
_LEAST_SPREAD = 1e-6
# An outlier is further from the median of its neighbours than this many spreads (Hampel, "The influence curve and its
# role in robust estimation", 1974).
_OUTLYING = 3.0
# Of what is normal, 1 in 80 is further out.
_STICKING_OUT = 2.5
# Neighbours on each side: three in a row out of seven or fewer may be a change, two are outliers.
_NEIGHBOURS = 2


class Noise(NamedTuple):
    """What is known of it.

    Attributes:
        spread: the standard deviation of a value, were it normal.
        memory: what a value keeps of the one before, as a part of 1.
    """

    spread: float
    memory: float

    @property
    def repetition(self) -> float:
        """How many values in a row tell no more of their mean than one independent value would."""
        return (1 + self.memory) / (1 - self.memory)


def noise_of(values: Values) -> Noise:
    """Return the noise in values in the order of time, at least two."""
    step, memory = _spread(np.diff(values)), 0.0
    if len(values) >= _FEWEST and step > 0:
        wider = _spread(values[2:] - values[:-2])
        memory = min(max((wider / step) ** 2 - 1, 0.0), _MOST_MEMORY)
    return Noise(max(step / math.sqrt(2 * (1 - memory)), _LEAST_SPREAD), memory)


def _spread(differences: Values) -> float:
    """The standard deviation of differences around 0, of those that do not stick out."""
    sizes = np.abs(differences)
    usual = DEVIATIONS * float(np.median(sizes))
    inside = sizes[sizes <= _STICKING_OUT * usual]
    return float(np.sqrt(np.mean(inside**2)))


def without_outliers(values: Values, spread: float) -> Values:
    """Return the values, each that is far from all its neighbours pulled back to where it may be.

    Where there are as many neighbours on one level as on another, as at the last of the values, either level is near.
    """
    reach = _OUTLYING * spread
    pulled: Values = values.copy()
    for at, value in enumerate(values):
        middle = _middle(values[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1], float(value))
        pulled[at] = min(max(value, middle - reach), middle + reach)
    return pulled


def _middle(around: Values, value: float) -> float:
    """The median; of an even number whatever lies between the two in the middle, as near to `value` as that is."""
    ordered = np.sort(around)
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return min(max(value, low), high)


# Partition: where a series of values is cut into stretches of one level each, at the least cost.
#
# The cost of a cut series is the squared distance of every value from its stretch's mean, and a penalty for each cut.
# The best of all partitions is found exactly, by dynamic programming over where the last stretch begins: the recursion
# of Jackson et al., "An algorithm for optimal partitioning of data on an interval" (IEEE Signal Processing Letters
# 12(2), 2005), which PELT prunes without changing its result (Killick, Fearnhead and Eckley, "Optimal detection of
# changepoints with a linear computational cost", JASA 107, 2012). A history has hundreds of runs: one step looks at
# all beginnings at once, in an array, and there is nothing that pruning would save.


def cuts(values: Values, penalty: float, shortest: int) -> list[int]:
    """Return where stretches begin but the first, in order.

    Args:
        values: in the order of time.
        penalty: of each cut; in the units of the values, squared.
        shortest: how many values a stretch has at least.
    """
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    least = np.full(count + 1, np.inf)  # of the values before each place
    least[0] = -penalty  # the first stretch is no cut
    begins = np.zeros(count + 1, dtype=np.intp)  # of the last stretch before each place
    for end in range(shortest, count + 1):
        begin = np.arange(end - shortest + 1)
        distance = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        total = least[begin] + distance + penalty
        begins[end] = int(np.argmin(total))
        least[end] = total[begins[end]]
    found = []
    at = int(begins[count])
    while at > 0:
        found.append(at)
        at = int(begins[at])
    return found[::-1]


def may_begin(values: Values, at: int, spread: float) -> tuple[int, int]:
    """Return the first and the last place at which the one change in `values` may as well have been.

    The likelihood-ratio confidence set of Siegmund ("Confidence sets in change-point problems", International
    Statistical Review 56, 1988), as the whole stretch from its first to its last place.

    Args:
        values: around the change: the stretch before it and the one after.
        at: where it most likely was, within them.
        spread: the standard deviation of a value.
    """
    places = np.arange(1, len(values))
    sums = np.cumsum(values)
    before = sums[:-1]
    fit = before**2 / places + (sums[-1] - before) ** 2 / (len(values) - places)
    likely = places[fit >= fit[at - 1] - _OFF * spread**2]
    return int(likely.min()), int(likely.max())


# In 95% of series the true place is off by no more: (1 - exp(-x / 2))^2 = 0.95.
_OFF = 7.35


# Bursts: runs in a row that were all slow and then no longer were, because other work ran on the machine.
#
# Three runs of a burst look as three runs after a slowdown do: no test of values that are independent can tell them
# apart, however strict. What tells them apart is how long they last. So a level is believed once it has held for
# longer than any burst that this series has had: were bursts as long as chance makes them, the next would be longer
# than all n before it with a probability of 1 / (n + 1) at most, whatever their distribution (Gumbel and von
# Schelling, "The distribution of the number of exceedances", Annals of Mathematical Statistics 21(2), 1950). And a
# level that was left again for the one before it is a burst, unless it held for long.

# Two runs in a row that are slow may both have run next to other work.
SHORTEST = 3
# The fewest, once a series had a burst.
WARY = 4
# No user waits for more: so many runs at another level are a change.
LONGEST = 6


class Passing(NamedTuple):
    """A stretch that is not believed to be of a level of its own.

    Attributes:
        begin: where it begins.
        end: where it ends.
        low: the lower of the levels around it.
        high: the higher.
    """

    begin: int
    end: int
    low: float
    high: float


def passing(values: Values, calm: Values, cuts: Sequence[int], spread: float) -> Passing | None:
    """Return the first stretch that is a burst, or may yet turn out to be one; None where there is none.

    Args:
        values: in the order of time.
        calm: the same, with outliers and bursts that are known pulled back.
        cuts: where stretches begin but the first, in order.
        spread: the standard deviation of a value.
    """
    ends = [0, *cuts, len(values)]
    levels = [float(calm[begin:end].mean()) for begin, end in pairwise(ends)]
    for number, at in enumerate(cuts, 1):
        end, before, level = ends[number + 1], levels[number - 1], levels[number]
        is_newest = end == len(values)
        after = before if is_newest else levels[number + 1]
        if is_newest:
            away = np.concatenate([values[ends[n] : ends[n + 1]] - levels[n] for n in range(number)])
            needed = _needed(away if level > before else -away, spread)
        else:
            was_left = abs(after - before) < abs(level - before) / 2
            needed = LONGEST if was_left else SHORTEST
        stretch = values[at:end]
        on_it = np.abs(stretch - level) < np.abs(stretch - before)
        if np.count_nonzero(on_it) < needed:
            return Passing(at, end, min(before, after), max(before, after))
    return None


def _needed(away: Values, spread: float) -> int:
    """Return how many runs a level must hold, where runs before it were so far beyond the levels of their own."""
    longest = _longest(away > _OUTLYING * spread)
    return min(max(WARY, longest + 1), LONGEST) if longest else SHORTEST


def _longest(is_out: npt.NDArray[np.bool_]) -> int:
    """Return how many in a row are out at most, without those at the very end: they are not yet over."""
    lengths = [(out, len(list(each))) for out, each in groupby(is_out.tolist())]
    if lengths and lengths[-1][0]:
        lengths.pop()
    return max((length for out, length in lengths if out), default=0)


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
