"""Where warm-up ends by ticktree's rule and by two published rules, on synthetic ticks.

    python benchmarks/warmup.py [--trials 200] [--quick]

Of each series 25, 64 and 1,000 ticks are looked at. A column has, for each rule: how many ticks it leaves out on
average, in how many trials it leaves out more than there are of warm-up, and how far the mean of what it keeps lies
from the mean of ticks long after any warm-up, in percent. ticktree's rule runs in the recorder itself, on a
virtual clock.

- MSER: White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69(6), 1997;
  looked for after 4, 6, 8, 12, 16, 24, 32, 48 and 64 ticks.
- CoV: Georges, Buytaert and Eeckhout, Statistically rigorous Java performance evaluation, OOPSLA 2007: steady is the
  first window of 10 ticks whose standard deviation is below 2% of their mean.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import ticktree

LOOKS = (4, 6, 8, 12, 16, 24, 32, 48, 64)  # of MSER
SEARCHED_TICKS = 256  # among these ticks ticktree looks
TICK_NS = 10_000_000
WINDOW = 10
STEADY_CV = 0.02
LENGTHS = (25, 64, 1000)
WARMUP_END = 250  # where the warm-up of every series here is over

Rule = Callable[[Sequence[int]], int]


@dataclass(frozen=True)
class Case:
    """Ticks of one sort.

    Attributes:
        name: what they are like.
        factor: how many times as long as a usual one the tick of a number is.
        scatter: of each, as a part of it.
        warm: how many of them are warm-up.
        follows: how much of its scatter a tick has of the one before.
    """

    name: str
    factor: Callable[[int], float]
    scatter: float = 0.05
    warm: int = 0
    follows: float = 0.0

    def ticks(self, dice: random.Random) -> list[int]:
        """Return 1,000 ticks, in nanoseconds."""
        wave, durations = dice.gauss(0, 1), []
        for number in range(max(LENGTHS)):
            wave = self.follows * wave + math.sqrt(1 - self.follows**2) * dice.gauss(0, 1)
            durations.append(round(TICK_NS * self.factor(number) * math.exp(self.scatter * wave)))
        return durations


def _first(count: int, times: float) -> Callable[[int], float]:
    return lambda number: times if number < count else 1.0


def _at(numbers: Sequence[int], times: float) -> Callable[[int], float]:
    return lambda number: times if number in numbers else 1.0


def _sinking(share: float, ticks: float) -> Callable[[int], float]:
    return lambda number: 1 + share * math.exp(-number / ticks)


def _every(count: int, times: float) -> Callable[[int], float]:
    return lambda number: times if number % count == count - 1 else 1.0


CASES = (
    Case("no warm-up, no scatter", _first(0, 1), scatter=0.0),
    Case("no warm-up, scatter 2%", _first(0, 1), scatter=0.02),
    Case("no warm-up, scatter 5%", _first(0, 1)),
    Case("no warm-up, scatter 20%", _first(0, 1), scatter=0.2),
    Case("no warm-up, neighbours alike (0.9)", _first(0, 1), follows=0.9),
    Case("learns at every 4th tick, 3 x", _every(4, 3), scatter=0.03),
    Case("learns at every 10th tick, 5 x", _every(10, 5), scatter=0.03),
    Case("one pause at tick 20, 8 x", _at((20,), 8)),
    Case("compiles in tick 0, 300 x", _first(1, 300), warm=1),
    Case("compiles in ticks 0 to 2, 300 x", _first(3, 300), warm=3),
    Case("slow for 5 ticks, 3 x", _first(5, 3), warm=5),
    Case("slow for 20 ticks, 3 x", _first(20, 3), warm=20),
    Case("slow for 50 ticks, 1.5 x", _first(50, 1.5), warm=50),
    Case("slow for 200 ticks, 3 x", _first(200, 3), warm=200),
    Case("tunes in ticks 0, 2, 5, 20 x", _at((0, 2, 5), 20), warm=6),
    Case("tunes in ticks 0, 7, 15, 20 x", _at((0, 7, 15), 20), warm=16),
    Case("caches: +50%, e-fold in 10 ticks", _sinking(0.5, 10), warm=30),
    Case("caches: +300%, e-fold in 2 ticks", _sinking(3, 2), warm=9),
    Case("does not learn for 10 ticks, 0.2 x", _first(10, 0.2), warm=10),
)


def by_ticktree(ticks: Sequence[int]) -> int:
    """Return how many ticks the recorder sets aside."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("loop", list(ticks[:SEARCHED_TICKS])):
        recorder.advance(tick)
    profile = recorder.snapshot()
    recorder.disable()
    return profile.loops["loop"].warmup_ticks


def by_mser(ticks: Sequence[int]) -> int:
    """Return how many ticks are set aside where MSER alone decides."""
    aside = 0
    for look in LOOKS:
        if look <= len(ticks) and _mser(ticks[:look]) > aside:
            aside = look
    return aside


def _mser(ticks: Sequence[int]) -> int:
    def error(left_out: int) -> float:
        steady = ticks[left_out:]
        mean = fmean(steady)
        return math.fsum((tick - mean) ** 2 for tick in steady) / len(steady) ** 2

    return min(range(len(ticks) // 2 + 1), key=error)


def by_deviation(ticks: Sequence[int]) -> int:
    """Return where the first steady window begins; all of the first ticks where none is."""
    first = ticks[: LOOKS[-1]]
    for begin in range(len(first) - WINDOW + 1):
        window = first[begin : begin + WINDOW]
        if stdev(window) < STEADY_CV * fmean(window):
            return begin
    return len(first)


RULES: dict[str, Rule] = {"ticktree": by_ticktree, "MSER": by_mser, "CoV": by_deviation}


def row(case: Case, length: int, trials: int, rule: Rule) -> str:
    """Return what one rule makes of one sort of ticks."""
    left_out, too_many, off = [], 0, []
    for trial in range(trials):
        ticks = case.ticks(random.Random(trial))
        aside = rule(ticks[:length])
        left_out.append(aside)
        too_many += aside > case.warm
        used = ticks[aside:length]
        if used:
            off.append(abs(fmean(used) / fmean(ticks[WARMUP_END:]) - 1))
    mean_off = f"{100 * fmean(off):6.1f}" if off else "     -"
    return f"{fmean(left_out):6.1f} {100 * too_many / trials:4.0f}% {mean_off}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=200, help="series of each sort")
    parser.add_argument("--quick", action="store_true", help="20 series of each sort")
    chosen = parser.parse_args()
    trials = 20 if chosen.quick else chosen.trials
    head = "".join(f"{name:>22}" for name in RULES)
    for length in LENGTHS:
        print(f"\n{f'of {length:,} ticks':36} warm{head}")
        print(f"{'':41}" + f"{'out  more   off %':>22}" * len(RULES))
        for case in CASES:
            cells = "".join(f"{row(case, length, trials, rule):>22}" for rule in RULES.values())
            print(f"{case.name:36} {case.warm:4}{cells}", flush=True)


if __name__ == "__main__":
    main()
