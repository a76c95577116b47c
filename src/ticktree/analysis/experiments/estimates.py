"""Blocks of ticks under an intervention, and estimates of how much shorter the tick is if a section is faster.

Each estimate has an interval and Amdahl's bound.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from ticktree.analysis.comparison.shift import Shift, between
from ticktree.analysis.drift import sen_slope
from ticktree.analysis.experiments.deadlines import PredictedMisses

# The recorder's numbers of the interventions.
NOTHING, FASTER, SLOWER = range(3)

Intervention = tuple[int, int, int]  # its number, the number of the section, the percentage

# One block in four has no intervention, as in Coz (Curtsinger and Berger, SOSP 2015).
_UNTOUCHED_EVERY = 4
# By how much a section is slowed: small enough not to change the loop's behaviour, large enough to measure.
SLOWER_PERCENT = 50


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive ticks of the loop under one intervention, without the first ones, in which the program settled.

    Attributes:
        intervention: `NOTHING`, `FASTER` or `SLOWER`.
        target: the number of the section.
        percent: how much faster or slower the section was made.
        ticks: number of ticks.
        began_ns: when the first tick began.
        ended_ns: when the last tick ended.
        owed_ns: how long all other threads were delayed to make the section appear faster.
        delayed_ns: how long the slowed section was delayed.
        forgiven_ns: delay that was owed and never paid; if there is any, the block is not valid.
        half_ns: duration of the first half of the ticks.
        half_owed_ns: the part of `owed_ns` in the first half.
        spent_ns: time in each section, on all threads.
    """

    intervention: int
    target: int
    percent: int
    ticks: int
    began_ns: int
    ended_ns: int
    owed_ns: int
    delayed_ns: int
    forgiven_ns: int
    half_ns: int
    half_owed_ns: int
    spent_ns: tuple[int, ...]

    @property
    def key(self) -> Intervention:
        """The intervention, the number of its section, and its percentage."""
        return self.intervention, self.target, self.percent

    @property
    def tick_ns(self) -> float:
        """The mean tick without the delays: its duration if the section had really been faster."""
        return (self.ended_ns - self.began_ns - self.owed_ns) / self.ticks

    @property
    def is_valid(self) -> bool:
        """Whether the block can be used: every delay was paid."""
        return not self.forgiven_ns and self.tick_ns > 0

    @property
    def drift(self) -> float | None:
        """The logarithm of the ratio of the mean ticks, second half to first half; None if unknown."""
        first = self.half_ns - self.half_owed_ns
        second = self.ended_ns - self.began_ns - self.owed_ns - first
        halves = self.ticks // 2, self.ticks - self.ticks // 2
        if first <= 0 or second <= 0 or not halves[0]:
            return None
        return math.log(second / halves[1]) - math.log(first / halves[0])


def plans(targets: int, speedups: Sequence[int], blocks: int, seed: int) -> list[Intervention]:
    """Return one intervention per block, in random order.

    They come in rounds that contain each intervention once, so that a run that ends early has blocks of all of them.
    The order is random because a fixed one may coincide with a period of the program. `targets` is the number of
    sections, and `speedups` are the percentages by which they are made faster.
    """
    generator = random.Random(seed)
    interventions: list[Intervention] = [
        (FASTER, target, percent) for target in range(targets) for percent in speedups
    ]
    interventions += [(SLOWER, target, SLOWER_PERCENT) for target in range(targets)]
    untouched: list[Intervention] = [(NOTHING, 0, 0)] * -(-len(interventions) // (_UNTOUCHED_EVERY - 1))
    planned: list[Intervention] = []
    while len(planned) < blocks:
        one_round = interventions + untouched
        generator.shuffle(one_round)
        planned += one_round
    return planned[:blocks]


# With fewer blocks the rank test has no 95% interval.
_MIN_BLOCKS = 4
# The cost of the pauses themselves, in percentage points: predictions for pipelines with a known answer were too low
# by up to one (benchmarks/whatif.py); 94 to 97 of 102 intervals contained the answer with this cost, 61 without.
_PAUSE_COST_POINTS = 0.75
# If the program settled before a block began, the block's halves differ by no more than this.
_MAX_DRIFT = 0.05
# The quartiles of the untouched blocks' ticks may differ by this much; otherwise the program changes between blocks.
_MAX_SPREAD = 0.2

GAIN, NO_GAIN, LOSS = "gain", "no gain", "loss"
UNKNOWN, DISAGREE, EXACT = "cannot tell", "estimates disagree", "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How much shorter the loop's ticks are if a section is faster.

    Attributes:
        path: path of the section.
        speedup_percent: how much faster the section is.
        gain_percent: how much shorter the tick is; None if there are no blocks.
        low_percent: lower end of the interval that contains the gain in 95% of runs; None if there is no interval.
        high_percent: its upper end.
        amdahl_percent: what Amdahl's law gives if the whole program waits for the section.
        verdict: `gain`, `no gain`, `loss`, `cannot tell` if the interval contains both 0 and Amdahl's bound,
            `estimates disagree` if delaying the section costs less than its speed-up seems to gain, `exact` if
            nothing runs concurrently and Amdahl's law holds.
    """

    path: str
    speedup_percent: int
    gain_percent: float | None
    low_percent: float | None
    high_percent: float | None
    amdahl_percent: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How much longer the loop's ticks are if a section is slower: the second experiment, which needs no pauses.

    Attributes:
        path: path of the section.
        slower_percent: how much longer the section took.
        loss_percent: how much longer the tick was.
        low_percent: lower end of the interval of the loss.
        high_percent: upper end of the interval of the loss.
        critical: milliseconds added to the tick per millisecond added to the section; None if unknown.
    """

    path: str
    slower_percent: int
    loss_percent: float
    low_percent: float
    high_percent: float
    critical: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiments:
    """The results of a run's experiments.

    Attributes:
        loop: path of the loop whose ticks are measured.
        tick_ns: the loop's mean tick without an intervention.
        blocks: number of valid blocks.
        predictions: by section, then by speed-up.
        slopes: by path.
        notes: what a reader must know, one sentence each.
        misses: for a loop with a target rate, how many ticks it would miss.
    """

    loop: str
    tick_ns: float
    blocks: int
    predictions: Sequence[Prediction]
    slopes: Mapping[str, Slope]
    notes: Sequence[str] = ()
    misses: Sequence[PredictedMisses] = ()


def estimate(
    loop: str,
    paths: Sequence[str],
    speedups: Sequence[int],
    blocks: Sequence[Block],
    notes: Sequence[str] = (),
    doubts: Sequence[str] = (),
) -> Experiments:
    """Return the predictions that the blocks of a run support.

    Args:
        loop: path of the loop.
        paths: paths of the sections, in the order of their numbers.
        speedups: the tested speed-ups, in percent.
        blocks: all measured blocks.
        notes: what else a reader must know.
        doubts: reasons why no prediction can be trusted.
    """
    valid = [block for block in blocks if block.is_valid]
    ticks = _detrended_ticks(valid)
    base = ticks.get((NOTHING, 0, 0), [])
    untouched = [block for block in valid if block.intervention == NOTHING]
    shares = _shares(untouched, len(paths))
    slopes = {
        path: slope
        for index, path in enumerate(paths)
        if (slope := _slope(path, index, shares[index], ticks, base))
    }
    predictions = [
        _prediction(
            path,
            percent,
            shares[index],
            _shift(base, ticks.get((FASTER, index, percent), [])),
            slopes.get(path),
        )
        for index, path in enumerate(paths)
        for percent in speedups
    ]
    doubts = [*doubts, *_settling_doubts(valid, base)]
    if doubts:
        predictions = [replace(prediction, verdict=UNKNOWN) for prediction in predictions]
    return Experiments(
        loop=loop,
        tick_ns=median(block.tick_ns for block in untouched) if untouched else 0.0,
        blocks=len(valid),
        predictions=predictions,
        slopes=slopes,
        notes=(*notes, *doubts),
    )


def exact(
    loop: str, tick_ns: float, shares: Mapping[str, float], speedups: Sequence[int], notes: Sequence[str]
) -> Experiments:
    """Return the predictions of Amdahl's law for a program in which nothing runs concurrently with the loop.

    `shares` are the shares of the tick that the sections take, by path.
    """
    predictions = [
        Prediction(
            path=path,
            speedup_percent=percent,
            gain_percent=percent * share,
            low_percent=percent * share,
            high_percent=percent * share,
            amdahl_percent=percent * share,
            verdict=EXACT,
        )
        for path, share in shares.items()
        for percent in speedups
    ]
    return Experiments(
        loop=loop, tick_ns=tick_ns, blocks=0, predictions=predictions, slopes={}, notes=tuple(notes)
    )


def _detrended_ticks(blocks: Sequence[Block]) -> dict[Intervention, list[float]]:
    """Return the mean ticks of the blocks by intervention, without the trend of the untouched blocks.

    The trend is the median of the slopes between all pairs of blocks (Theil 1950, Sen 1968), of the ticks' logarithms.
    """
    points = [
        (block.began_ns / 1e9, math.log(block.tick_ns)) for block in blocks if block.intervention == NOTHING
    ]
    trend = sen_slope(points) if len(points) >= 2 * _MIN_BLOCKS else 0.0
    middle_s = median(begin for begin, _ in points) if points else 0.0
    ticks: dict[Intervention, list[float]] = defaultdict(list)
    for block in blocks:
        ticks[block.key].append(block.tick_ns * math.exp(-trend * (block.began_ns / 1e9 - middle_s)))
    return ticks


def _shares(untouched: Sequence[Block], targets: int) -> list[float]:
    """Return the share of the tick that each section takes on all threads together."""
    total_ns = sum(block.ended_ns - block.began_ns for block in untouched)
    return [
        sum(block.spent_ns[index] for block in untouched) / total_ns if total_ns else 0.0
        for index in range(targets)
    ]


def _shift(base: Sequence[float], new: Sequence[float]) -> Shift | None:
    return between(base, new) if len(base) >= _MIN_BLOCKS and len(new) >= _MIN_BLOCKS else None


def _slope(
    path: str, index: int, share: float, ticks: Mapping[Intervention, Sequence[float]], base: Sequence[float]
) -> Slope | None:
    shift = _shift(base, ticks.get((SLOWER, index, SLOWER_PERCENT), []))
    if shift is None or math.isinf(shift.high):
        return None
    added_share = share * SLOWER_PERCENT / 100
    return Slope(
        path=path,
        slower_percent=SLOWER_PERCENT,
        loss_percent=100 * shift.estimate,
        low_percent=100 * shift.low,
        high_percent=100 * shift.high,
        critical=shift.estimate / added_share if added_share > 0 else None,
    )


def _prediction(
    path: str, percent: int, share: float, shift: Shift | None, slope: Slope | None
) -> Prediction:
    bound = percent * min(share, 1.0)
    low = high = None
    verdict = UNKNOWN
    if shift is not None and math.isfinite(shift.high):
        low, high = -100 * shift.high - _PAUSE_COST_POINTS, -100 * shift.low + _PAUSE_COST_POINTS
        verdict = _verdict(low, high, bound, percent, slope)
    return Prediction(
        path=path,
        speedup_percent=percent,
        gain_percent=None if shift is None else -100 * shift.estimate,
        low_percent=low,
        high_percent=high,
        amdahl_percent=bound,
        verdict=verdict,
    )


def _verdict(low: float, high: float, bound: float, percent: int, slope: Slope | None) -> str:
    if low <= 0 and high >= bound:
        return UNKNOWN
    # The tick as a function of the section's length is the longest of some paths, so it is convex: no section gains
    # more by its speed-up than it costs by an equal delay.
    if slope is not None and low > max(0.0, slope.high_percent) * percent / slope.slower_percent:
        return DISAGREE
    if low > 0:
        return GAIN
    return LOSS if high < 0 else NO_GAIN


def _settling_doubts(blocks: Sequence[Block], base: Sequence[float]) -> list[str]:
    """Return a doubt if blocks began before the program had settled."""
    drifts: dict[Intervention, list[float]] = defaultdict(list)
    for block in blocks:
        if block.drift is not None:
            drifts[block.key].append(block.drift)
    untouched_drift = median(drifts.get((NOTHING, 0, 0), [0.0]))
    drifting = any(
        key[0] == FASTER and len(values) >= _MIN_BLOCKS and abs(median(values) - untouched_drift) > _MAX_DRIFT
        for key, values in drifts.items()
    )
    if not drifting and not _is_uneven(base):
        return []
    return [
        "The program had not settled when some blocks began, as if queues were filling or being emptied, or its ticks "
        "differ from block to block: give --settle more ticks, and let it run for longer"
    ]


def _is_uneven(base: Sequence[float]) -> bool:
    if len(base) < _MIN_BLOCKS:
        return False
    low, _, high = quantiles(base, n=4)
    return high > (1 + _MAX_SPREAD) * low
