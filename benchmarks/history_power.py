"""How soon `ticktree history` finds a change, and how often it reports a false one.

Series are made up, for only there the truth is known: the values of runs of a program, which is looked at after each
run, as in CI. The peers see the same series: ruptures' PELT, with the squared distance and the penalty that its manual
gives for it, and with the kernel that knows no distribution. They find changes and do not judge them; of both, only
what goes up by the least shift that matters to ticktree is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
import numpy.typing as npt

from harness.report import Absent, Figure, Report, options, progress
from ticktree.analysis.history.changes import MIN_LEVEL_RUNS, MIN_RUNS, THRESHOLD, changes

try:
    import ruptures
except ImportError:
    ruptures = None

SPREAD = 0.03  # of a run's value: another start, another placement in memory, another day
MEMORY = 0.6  # of an AR(1) series: what a run keeps of the one before
STEADY_RUNS = 150
BEFORE, AFTER = 30, 40  # runs of a series with a change in it
CHANGES = (0.05, 0.10, 0.30)
NEAR = 3  # so many runs from the true place is as good as there
FALSE_ALARMS = 5.0  # a thousand runs, wanted at most
SEED = 20261122

Values = npt.NDArray[np.float64]
Finder = Callable[[Values], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Weather:
    """What kind of noise.

    Attributes:
        name: what it is called.
        draw: that much of it, as logarithms.
    """

    name: str
    draw: Callable[[int, np.random.Generator], Values]


def white(count: int, noise: np.random.Generator) -> Values:
    return noise.normal(0, SPREAD, count)


def remembering(count: int, noise: np.random.Generator) -> Values:
    fresh = noise.normal(0, SPREAD, count)
    values = np.empty(count)
    values[0] = fresh[0]
    for index in range(1, count):
        values[index] = MEMORY * values[index - 1] + np.sqrt(1 - MEMORY**2) * fresh[index]
    return values


def heavy(count: int, noise: np.random.Generator) -> Values:
    """Student's t with 2 degrees of freedom, with the middle half of the white noise."""
    return SPREAD * 0.6745 / 0.8165 * noise.standard_t(2, count)


def bursts(count: int, noise: np.random.Generator, longest: int = 3) -> Values:
    """Every fifty runs or so another program uses the machine, for one to three of them."""
    values = white(count, noise)
    for begin in np.flatnonzero(noise.random(count) < 1 / 50):
        values[begin : begin + noise.integers(1, longest + 1)] += noise.uniform(0.1, 0.4)
    return values


def long_bursts(count: int, noise: np.random.Generator) -> Values:
    """As often, for one to eight: the longest of them are as long as what ticktree takes for a change."""
    return bursts(count, noise, longest=8)


WEATHERS = (
    Weather("white", white),
    Weather(f"AR(1), {MEMORY}", remembering),
    Weather("heavy tails (t, 2)", heavy),
    Weather("bursts of 1 to 3 runs", bursts),
    Weather("bursts of 1 to 8 runs", long_bursts),
)


def ticktree_finds(values: Values) -> list[int]:
    return [change.at for change in changes(values.tolist()) if change.is_slower]


def pelt_finds(values: Values) -> list[int]:
    """The squared distance; the penalty is that of the Bayesian information criterion, with a robust deviation.

    Its PELT in C, whose linear kernel is that distance: it cuts as its `Pelt` does, a thousand times as fast.
    """
    logs = np.log(values)
    deviation = 1.4826 * np.median(np.abs(np.diff(logs))) / np.sqrt(2)
    penalty = 2 * np.log(len(logs)) * max(deviation, 1e-6) ** 2
    finder = ruptures.KernelCPD(kernel="linear", min_size=MIN_LEVEL_RUNS)
    return _upwards(values, finder.fit_predict(logs, pen=penalty))


def kernel_finds(values: Values) -> list[int]:
    logs = np.log(values)
    finder = ruptures.KernelCPD(kernel="rbf", min_size=MIN_LEVEL_RUNS)
    return _upwards(values, finder.fit_predict(logs, pen=2 * np.log(len(logs))))


def _upwards(values: Values, ends: Sequence[int]) -> list[int]:
    """Where the median goes up by what matters."""
    places = [0, *ends]
    middles = [float(np.median(values[a:b])) for a, b in pairwise(places)]
    return [
        end
        for end, (before, after) in zip(ends, pairwise(middles), strict=False)
        if after / before - 1 >= THRESHOLD
    ]


FINDERS: dict[str, Finder] = {
    "ticktree": ticktree_finds,
    "ruptures PELT, l2": pelt_finds,
    "ruptures KernelCPD, rbf": kernel_finds,
}


def false_alarms(weather: Weather, find: Finder, trials: int) -> float:
    """How many changes are found in a thousand runs without any; one that is found again is the same."""
    noise = np.random.default_rng([SEED, 0])
    alarms = 0
    for _ in range(trials):
        values = np.exp(weather.draw(STEADY_RUNS, noise))
        positions: list[int] = []
        for count in range(MIN_RUNS, STEADY_RUNS + 1):
            for position in find(values[:count]):
                alarms += all(abs(position - neighbor) > NEAR for neighbor in positions)
                positions.append(position)
    return 1000 * alarms / (trials * STEADY_RUNS)


def delays(weather: Weather, find: Finder, change: float, trials: int) -> list[float]:
    """How many runs after a change it is found; infinite where it is not while anybody waits."""
    noise = np.random.default_rng([SEED, 1])
    result = []
    for _ in range(trials):
        logs = weather.draw(BEFORE + AFTER, noise)
        logs[BEFORE:] += np.log1p(change)
        values = np.exp(logs)
        looks = (
            count - BEFORE
            for count in range(BEFORE + 1, BEFORE + AFTER + 1)
            if any(abs(position - BEFORE) <= NEAR for position in find(values[:count]))
        )
        result.append(float(next(looks, np.inf)))
    return result


def measure(trials: int) -> list[Figure | Absent]:
    lines: list[Figure | Absent] = []
    for weather in WEATHERS:
        for name, find in FINDERS.items():
            progress(f"{weather.name}: {name}")
            line = f"{weather.name}: {name}"
            if ruptures is None and name != "ticktree":
                lines.append(Absent(line, "ruptures is not installed"))
            else:
                lines.append(_line(line, weather, find, trials))
    return lines


def _line(name: str, weather: Weather, find: Finder, trials: int) -> Figure:
    also = {}
    for change in CHANGES:
        run_delays = delays(weather, find, change, trials)
        miss_count = sum(delay == np.inf for delay in run_delays)
        if miss_count < trials / 2:
            also[f"+{change:.0%} found after, runs"] = median(run_delays)
        also[f"+{change:.0%} missed %"] = 100 * miss_count / trials
    is_wanted = find is ticktree_finds and weather.draw is not long_bursts
    target = FALSE_ALARMS if is_wanted else None
    alarms = false_alarms(weather, find, trials)
    return Figure(name, alarms, "false alarms", repeats=trials * STEADY_RUNS, target=target, also=also)


def main() -> None:
    arguments = options(__doc__).parse_args()
    lines = measure(4 if arguments.quick else 40)
    title = (
        f"Changes in a history looked at after each run, of runs that differ by {SPREAD:.0%}: "
        "false alarms per 1,000 runs, and how many runs it takes to find a real one"
    )
    Report("history_power", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
