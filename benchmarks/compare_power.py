"""How often `ticktree compare` is right: false alarms where nothing changed, and a real slowdown found.

Ticks are made up, for only there the truth is known: a loop of 20 ms whose ticks remember each other more or less,
with bursts of a neighbour's noise, in runs of unlike length. The peers judge the same ticks: a Mann-Whitney test on
single ticks, as a statistics package would be used on them, and a difference of the means of more than the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.report import Absent, Figure, Report, options, progress
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.entry import THRESHOLD
from ticktree.analysis.comparison.welch import student_tails
from ticktree.profile import Histogram, Loop, Node, Profile, Stats
from ticktree.profile.stats import BASE_WIDTH_NS, Windows

TICK_NS = 20e6
SPREAD = 0.10  # of one tick, as a part of it
BETWEEN_RUNS = 0.015  # of a run's mean: another start, another placement in memory
SLOWDOWN = 0.05
SLOWDOWN_OF_SINGLES = 0.25  # one run per side shows no less than what differs from start to start
FALSE_ALARMS = 0.05
POWER = 0.90
SEED = 20261121

Ticks = npt.NDArray[np.float64]
Runs = Sequence[Ticks]
Judge = Callable[[Runs, Runs], bool]


@dataclass(frozen=True, slots=True)
class Weather:
    """What kind of ticks.

    Attributes:
        name: what they are called.
        memory: what a tick keeps of the one before, as a part of 1.
        ticks: of a run, on each side.
        bursts: whether a neighbour slows parts of the run down by half.
    """

    name: str
    memory: float
    ticks: tuple[int, int] = (2000, 2000)
    bursts: bool = False


SINGLE = (
    Weather("independent ticks", 0.0),
    Weather("autocorrelated ticks (0.9)", 0.9),
    Weather("strongly autocorrelated ticks (0.99)", 0.99),
    Weather("unequal counts (2000 and 300), 0.9", 0.9, (2000, 300)),
    Weather("bursts of noise", 0.5, bursts=True),
    Weather("bursts, unequal counts, 0.9", 0.9, (2000, 300), bursts=True),
)
REPEATED = (
    Weather("10 runs a side, 0.9", 0.9, (200, 200)),
    Weather("10 runs a side, bursts", 0.9, (200, 200), bursts=True),
)


def ticks(weather: Weather, count: int, slower: float, noise: np.random.Generator) -> Ticks:
    """One run's ticks, in ns."""
    fresh = noise.normal(0, SPREAD * np.sqrt(1 - weather.memory**2), count)
    logs = np.empty(count)
    value = noise.normal(0, SPREAD)
    for index in range(count):
        value = weather.memory * value + fresh[index]
        logs[index] = value
    durations: Ticks = TICK_NS * (1 + slower) * np.exp(logs)
    if weather.bursts:
        for _ in range(noise.integers(0, 3)):
            begin = noise.integers(0, count)
            durations[begin : begin + noise.integers(1, count // 10)] *= 1.5
    return durations


def profile(durations: Ticks, run: int) -> Profile:
    """The profile that a run of these ticks would have left."""
    ends = np.cumsum(durations)
    width = BASE_WIDTH_NS
    while ends[-1] // width >= 64:
        width *= 2
    index = (ends // width).astype(int)
    counts = np.bincount(index)
    totals = np.bincount(index, weights=durations)
    durations_ns = durations.astype(int)
    stats = Stats(
        len(durations_ns),
        int(durations_ns.sum()),
        int(durations_ns.min()),
        int(durations_ns.max()),
        Histogram.of(durations_ns.tolist()),
    )
    windows = Windows(
        width,
        {at: int(n) for at, n in enumerate(counts) if n},
        {at: int(total) for at, total in enumerate(totals) if counts[at]},
    )
    node = Node(
        name="train",
        self_ns=stats.sum_ns,
        steady=stats,
        windows=windows,
        per_run={str(run): (stats.count, stats.sum_ns)},
    )
    root = Node(name="root", children={"train": node})
    loop = Loop(path="train", ticks=stats.count, stats=stats, busy_ns=stats.sum_ns)
    return Profile(root, {"train": loop})


def ticktree_says(base: Runs, new: Runs) -> bool:
    compared = compare(
        [profile(run, at) for at, run in enumerate(base)],
        [profile(run, -at - 1) for at, run in enumerate(new)],
        paired=len(base) > 1,
    )
    return compared.entries[0].verdict in ("slower", "faster")


def mann_whitney_says(base: Runs, new: Runs) -> bool:
    """The usual test at 5%, on all ticks as if they were independent."""
    before, after = np.concatenate(base), np.concatenate(new)
    ranks = np.empty(len(before) + len(after))
    ranks[np.argsort(np.concatenate([before, after]))] = np.arange(1, len(ranks) + 1)
    statistic = ranks[: len(before)].sum() - len(before) * (len(before) + 1) / 2
    middle = len(before) * len(after) / 2
    spread = np.sqrt(middle * (len(ranks) + 1) / 6)
    return student_tails(float((statistic - middle) / spread), 1e9) < FALSE_ALARMS


def means_say(base: Runs, new: Runs) -> bool:
    before, after = np.concatenate(base).mean(), np.concatenate(new).mean()
    return bool(abs(after / before - 1) >= THRESHOLD)


JUDGES: dict[str, Judge] = {
    "ticktree": ticktree_says,
    "Mann-Whitney on ticks": mann_whitney_says,
    "means differ by 2%": means_say,
}


def alarms(weather: Weather, runs: int, slower: float, trials: int) -> dict[str, float]:
    """The part of the trials in which each judge reports a change."""
    noise = np.random.default_rng([SEED, runs, int(1e3 * slower), len(weather.name)])
    counts = dict.fromkeys(JUDGES, 0)
    for _ in range(trials):
        sides: list[list[Ticks]] = [[], []]
        for _ in range(runs):
            for side, change in enumerate((0.0, slower)):
                drift = noise.normal(0, BETWEEN_RUNS)
                sides[side].append(ticks(weather, weather.ticks[side], change, noise) * np.exp(drift))
        for name, judge in JUDGES.items():
            counts[name] += judge(*sides)
    return {name: count / trials for name, count in counts.items()}


def measure(trials: int) -> list[Figure | Absent]:
    lines: list[Figure | Absent] = []
    for weathers, runs, slowdown in ((SINGLE, 1, SLOWDOWN_OF_SINGLES), (REPEATED, 10, SLOWDOWN)):
        for weather in weathers:
            progress(weather.name)
            same, slower = (alarms(weather, runs, change, trials) for change in (0.0, slowdown))
            lines += [
                _line(f"{weather.name}: {judge}", judge, same[judge], slower[judge], trials, slowdown)
                for judge in JUDGES
            ]
    return lines


def _line(name: str, judge: str, false_alarms: float, power: float, trials: int, slowdown: float) -> Figure:
    return Figure(
        name,
        100 * false_alarms,
        "% false alarms",
        repeats=trials,
        target=100 * FALSE_ALARMS if judge == "ticktree" else None,
        also={f"{slowdown:.0%} slowdown found %": 100 * power},
    )


def main() -> None:
    arguments = options(__doc__).parse_args()
    lines = measure(60 if arguments.quick else 1000)
    title = (
        f"How often a comparison is right (wanted: at least {POWER:.0%} of 5% slowdowns found with 10 pairs)"
    )
    Report("compare_power", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
