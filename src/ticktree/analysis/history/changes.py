"""Changes: between which runs the level of a series changed, by how much, and how certain that is.

A history of runs is short, noisy and full of outliers, and it is tested again after each run: a method that is wrong
in 5% of tests raises a false alarm every month. The search has three steps, the first two as in Apache Otava (Fleming,
Kolaczkowski et al., "Hunter: using change point detection to hunt for performance regressions", ICPE 2023), which
first looks for weak change points and then tests each of them strictly:

1.  Take logarithms, so that a change is a ratio, and pull outliers back (`noise_of`). The best partition into
    segments (`cuts`: PELT's criterion) under a low penalty proposes cuts. E-divisive means (Matteson and James,
    JASA 109, 2014) test by permuting the values: ten runs have too few permutations for a strict test to ever
    reject, and would hide a program that became twice as slow. Otava has given up permutations as well.
2.  Test each cut: Student's t for the difference of two levels, after removing the autocorrelation (Prais and Winsten,
    "Trend estimators and serial correlation", 1954), with Bonferroni's correction for the choice of the position.
    Remove the weakest cut and join its neighbours until every remaining cut passes. Then the shift must matter:
    Hodges and Lehmann's, with the rank interval of `comparison.shift`, on the measured values, outliers included.
3.  Require that the level has lasted longer than the bursts of this series (`first_burst`). A level that has not is
    pulled back to the levels around it, as an outlier is, and the search starts again: it still finds a change next to
    a burst.
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
from ticktree.analysis.drift import MAD_SCALE

Values: TypeAlias = npt.NDArray[np.float64]

# Noise: how much successive values differ where nothing changed, estimated from the values with their changes.
#
# Every number here rests on differences of lag 1 and lag 2: a change touches one of the former and two of the latter,
# an outlier twice as many, and outlying differences are left out. That the two kinds of differences give the
# autocorrelation, whatever changes there are, is from Chakar, Lebarbier, Levy-Leduc and Robin, "A robust approach for
# estimating change-points in the mean of an AR(1) process" (Bernoulli 23(2), 2017). They take medians of squares,
# which for twenty runs are as good as chance; this takes the mean of the differences that are not outliers.

# With fewer values, the autocorrelation cannot be estimated.
_MIN_AUTOCORRELATION_VALUES = 8
# A higher limit would explain every change by autocorrelated noise.
_MAX_AUTOCORRELATION = 0.6
# No clock and no program repeats itself more exactly; it prevents division by zero.
_MIN_SPREAD = 1e-6
# An outlier is further from the median of its neighbours than this many spreads (Hampel, "The influence curve and its
# role in robust estimation", 1974).
_OUTLIER_SPREADS = 3.0
# In spreads; 1 in 80 normal values is further out.
_OUTLYING_DIFFERENCE = 2.5
# Neighbours on each side: three in a row out of seven or fewer may be a change, two are outliers.
_NEIGHBOURS = 2


class Noise(NamedTuple):
    """The noise of a series.

    Attributes:
        spread: the standard deviation of a value, were it normal.
        autocorrelation: of successive values, from 0 to 1.
    """

    spread: float
    autocorrelation: float

    @property
    def autocorrelation_time(self) -> float:
        """How many successive values determine their mean no better than one independent value would."""
        return (1 + self.autocorrelation) / (1 - self.autocorrelation)


def noise_of(values: Values) -> Noise:
    """Return the noise of at least two values in the order of time."""
    step, autocorrelation = _spread(np.diff(values)), 0.0
    if len(values) >= _MIN_AUTOCORRELATION_VALUES and step > 0:
        wider = _spread(values[2:] - values[:-2])
        autocorrelation = min(max((wider / step) ** 2 - 1, 0.0), _MAX_AUTOCORRELATION)
    return Noise(max(step / math.sqrt(2 * (1 - autocorrelation)), _MIN_SPREAD), autocorrelation)


def _spread(differences: Values) -> float:
    """Return the standard deviation of differences around 0, outliers left out."""
    sizes = np.abs(differences)
    typical = MAD_SCALE * float(np.median(sizes))
    inside = sizes[sizes <= _OUTLYING_DIFFERENCE * typical]
    return float(np.sqrt(np.mean(inside**2)))


def without_outliers(values: Values, spread: float) -> Values:
    """Return the values with outliers, those far from all their neighbours, pulled back to within reach of these.

    If equally many neighbours are on two levels, as for the last value, either level counts as near.
    """
    reach = _OUTLIER_SPREADS * spread
    pulled: Values = values.copy()
    for index, value in enumerate(values):
        center = _nearest_median(values[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1], float(value))
        pulled[index] = min(max(value, center - reach), center + reach)
    return pulled


def _nearest_median(neighbours: Values, value: float) -> float:
    """Return the median; of an even number, the point between the middle two that is nearest to `value`."""
    ordered = np.sort(neighbours)
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return min(max(value, low), high)


# Partition: cuts a series of values into segments of one level each, at the least cost.
#
# The cost is the squared distance of every value from its segment's mean, plus a penalty for each cut. Dynamic
# programming over where the last segment begins gives the exact optimum: the recursion of Jackson et al., "An
# algorithm for optimal partitioning of data on an interval" (IEEE Signal Processing Letters 12(2), 2005), which PELT
# prunes without changing its result (Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear
# computational cost", JASA 107, 2012). A history has hundreds of runs: one step evaluates all beginnings at once, in
# an array, and pruning would save nothing.


def cuts(values: Values, penalty: float, shortest: int) -> list[int]:
    """Return where each segment but the first begins, in order; each has `shortest` values or more.

    The penalty per cut is in the squared unit of the values.
    """
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    min_costs = np.full(count + 1, np.inf)  # cost of the values before each position
    min_costs[0] = -penalty  # the first segment is no cut
    last_begins = np.zeros(count + 1, dtype=np.intp)  # of the last segment before each position
    for end in range(shortest, count + 1):
        begin = np.arange(end - shortest + 1)
        distance = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        costs = min_costs[begin] + distance + penalty
        last_begins[end] = int(np.argmin(costs))
        min_costs[end] = costs[last_begins[end]]
    positions = [int(last_begins[count])]
    while positions[-1] > 0:
        positions.append(int(last_begins[positions[-1]]))
    return positions[-2::-1]


def confidence_set(values: Values, at: int, spread: float) -> tuple[int, int]:
    """Return the first and the last position in the 95% confidence set of the one change in `values`.

    The likelihood-ratio confidence set of Siegmund ("Confidence sets in change-point problems", International
    Statistical Review 56, 1988), as the whole range from its first to its last position. The likeliest is `at`, and
    `spread` is the standard deviation of a value.
    """
    positions = np.arange(1, len(values))
    sums = np.cumsum(values)
    before = sums[:-1]
    fit = before**2 / positions + (sums[-1] - before) ** 2 / (len(values) - positions)
    likely_positions = positions[fit >= fit[at - 1] - _LIKELIHOOD_DROP * spread**2]
    return int(likely_positions.min()), int(likely_positions.max())


# At the true position, no larger in 95% of series: (1 - exp(-x / 2))^2 = 0.95.
_LIKELIHOOD_DROP = 7.35


# Bursts: successive runs that were slow because other work ran on the machine, until it ended.
#
# Three runs of a burst look like three runs after a slowdown: no test of independent values, however strict, can
# distinguish them. Only their duration does. So a level counts once it has lasted longer than any burst of this
# series: if the lengths of bursts are random, the next is longer than all n before it with a probability of at most
# 1 / (n + 1), whatever their distribution (Gumbel and von Schelling, "The distribution of the number of exceedances",
# Annals of Mathematical Statistics 21(2), 1950). A level after which the series returned to the level before it is a
# burst, unless it lasted long.

# Two successive slow runs may both have run next to other work.
MIN_LEVEL_RUNS = 3
# The least length of a level once a series had a burst.
SHORTEST_AFTER_BURST = 4
# No user waits for more runs: this many at another level are a change.
MAX_LEVEL_RUNS = 6


class Burst(NamedTuple):
    """A segment that is not, or not yet, accepted as a level, and the lower and the higher of the levels around it."""

    begin: int
    end: int
    low: float
    high: float


def first_burst(values: Values, calm: Values, cuts: Sequence[int], spread: float) -> Burst | None:
    """Return the first segment that is a burst, or may still turn out to be one; None if there is none.

    Of `calm`, outliers and known bursts are pulled back; `cuts` are where each segment but the first begins, and
    `spread` is the standard deviation of a value.
    """
    ends = [0, *cuts, len(values)]
    levels = [float(calm[begin:end].mean()) for begin, end in pairwise(ends)]
    for number, at in enumerate(cuts, 1):
        end, before, level = ends[number + 1], levels[number - 1], levels[number]
        is_newest = end == len(values)
        after = before if is_newest else levels[number + 1]
        if is_newest:
            excess = np.concatenate([values[ends[n] : ends[n + 1]] - levels[n] for n in range(number)])
            needed = _required_length(excess if level > before else -excess, spread)
        else:
            has_returned = abs(after - before) < abs(level - before) / 2
            needed = MAX_LEVEL_RUNS if has_returned else MIN_LEVEL_RUNS
        segment = values[at:end]
        is_on_level = np.abs(segment - level) < np.abs(segment - before)
        if np.count_nonzero(is_on_level) < needed:
            return Burst(at, end, min(before, after), max(before, after))
    return None


def _required_length(excess: Values, spread: float) -> int:
    """Return how many runs a level must last, given how far the runs before it were beyond their own levels."""
    is_outlying = (excess > _OUTLIER_SPREADS * spread).tolist()
    # Except a burst at the very end, which is not over yet.
    *groups, _ = [(is_outlier, len(list(group))) for is_outlier, group in groupby([*is_outlying, True])]
    longest = max((length for is_outlier, length in groups if is_outlier), default=0)
    return min(max(SHORTEST_AFTER_BURST, longest + 1), MAX_LEVEL_RUNS) if longest else MIN_LEVEL_RUNS


# Fewer runs have no rank interval on both sides of a change, wherever it was.
MIN_RUNS = 8
# The probability that one test of a series without a change reports one.
LEVEL = 0.005
# Other placements in memory and other days make smaller shifts than this.
THRESHOLD = 0.05

# In variances of the noise. A cut that lowers the cost by less is not even worth testing.
_WEAK_PENALTY = 3.0


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a series' level.

    Attributes:
        at: the index of the first value on the new level.
        earliest: the first index of its confidence set.
        latest: the last.
        shift: from the segment before to the segment after.
        before: the median of the segment before.
        after: the median of the segment after.
        p_value: of the cut, corrected for the choice of its position.
    """

    at: int
    earliest: int
    latest: int
    shift: Shift
    before: float
    after: float
    p_value: float

    @property
    def is_slower(self) -> bool:
        """Whether durations went up."""
        return self.shift.estimate > 0


def changes(values: Sequence[float], threshold: float = THRESHOLD, level: float = LEVEL) -> list[Change]:
    """Return the changes in positive values in the order of time; none for fewer than `FEWEST` values.

    Args:
        values: one per run.
        threshold: the least shift that matters, as a part of 1.
        level: the probability with which a series without a change may show one.
    """
    if len(values) < MIN_RUNS:
        return []
    logs = np.log(np.asarray(values, dtype=np.float64))
    noise = noise_of(logs)
    calm = without_outliers(logs, noise.spread)
    penalty = _WEAK_PENALTY * noise.autocorrelation_time * noise.spread**2
    # Each round removes one burst: a handful of rounds, even if the series is nothing but bursts.
    for _ in values:
        accepted = _Elimination(values, calm, noise, threshold, level).run(
            cuts(calm, penalty, MIN_LEVEL_RUNS)
        )
        burst = first_burst(logs, calm, [change.at for change in accepted], noise.spread)
        if burst is None:
            return accepted
        calm[burst.begin : burst.end] = np.clip(logs[burst.begin : burst.end], burst.low, burst.high)
    return []


@dataclass(frozen=True, slots=True)
class _Elimination:
    """Removes cuts, the weakest first, until every remaining one passes its test."""

    values: Sequence[float]
    calm: Values
    noise: Noise
    threshold: float
    level: float

    def run(self, weak: Sequence[int]) -> list[Change]:
        cuts = self._drop_insignificant(list(weak))
        while cuts:
            candidates = [self._change(*bounds) for bounds in self._bounds(cuts)]
            negligible = [change for change in candidates if not self._matters(change)]
            if not negligible:
                return candidates
            cuts.remove(min(negligible, key=lambda change: abs(change.shift.estimate)).at)
            cuts = self._drop_insignificant(cuts)
        return []

    def _drop_insignificant(self, cuts: list[int]) -> list[int]:
        while cuts:
            p_values = [self._p_value(*bounds) for bounds in self._bounds(cuts)]
            weakest = max(range(len(cuts)), key=p_values.__getitem__)
            if p_values[weakest] <= self.level:
                break
            del cuts[weakest]
        return cuts

    def _bounds(self, cuts: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Return per cut where the segment before it begins, the cut, and where the segment after it ends."""
        ends = [0, *cuts, len(self.values)]
        return zip(ends, ends[1:], ends[2:], strict=False)

    def _p_value(self, begin: int, at: int, end: int) -> float:
        """Return the p-value of Student's test of two levels, by least squares of the innovations."""
        autocorrelation, count = self.noise.autocorrelation, end - begin
        levels = np.zeros((count, 2))
        levels[: at - begin, 0] = levels[at - begin :, 1] = 1.0
        table = np.column_stack([levels, self.calm[begin:end]])
        innovations = table.copy()
        innovations[1:] -= autocorrelation * table[:-1]
        innovations[0] *= math.sqrt(1 - autocorrelation**2)
        before_after, observed = innovations[:, :2], innovations[:, 2]
        inverse = np.linalg.inv(before_after.T @ before_after)
        means = inverse @ before_after.T @ observed
        squares = float(((observed - before_after @ means) ** 2).sum())
        difference = float(means[1] - means[0])
        error = math.sqrt(squares / (count - 2) * float(inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]))
        if error <= 0:
            return 0.0 if difference else 1.0
        return min(1.0, student_tails(difference / error, count - 2) * (count - 2 * MIN_LEVEL_RUNS + 1))

    def _change(self, begin: int, at: int, end: int) -> Change:
        before, after = self.values[begin:at], self.values[at:end]
        spread = self.noise.spread * math.sqrt(self.noise.autocorrelation_time)
        first, last = confidence_set(self.calm[begin:end], at - begin, spread)
        return Change(
            at=at,
            earliest=begin + first,
            latest=begin + last,
            shift=between(before, after),
            before=float(np.median(before)),
            after=float(np.median(after)),
            p_value=self._p_value(begin, at, end),
        )

    def _matters(self, change: Change) -> bool:
        return verdict_of(change.shift, self.threshold) in ("slower", "faster")
