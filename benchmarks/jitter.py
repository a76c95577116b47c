"""How well a loop holds 30, 100 and 500 Hz: jitter, lateness and CPU use.

Three ways to hold a rate, each with the same work in its ticks, a twentieth of the period on average:

- `pace=True`: ticktree's loop, which records meanwhile;
- `time.sleep`: each tick sleeps the rest of its period;
- `precise_sleep`: the method of the function of that name in lerobot's robot_utils: while more than 10 ms are left,
  sleep all but 3 ms of them, and look at the clock for the rest. (On Linux that function itself just sleeps, which is
  the way before it.)

They run a second each in turn, in shuffled order, so that a busy machine disturbs all alike. A round's figures are of
its own ticks; what is shown is the median of the rounds, and the median of the rounds' ratios.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import perf_counter_ns, thread_time_ns

import ticktree
from harness.report import Figure, Report, options, progress
from harness.spread import Spread, nearest_rank

RATES_HZ = (30, 100, 500)
ROUNDS, QUICK_ROUNDS = 20, 3
ROUND_S = 1
WORK_SHARE = 0.05
SEED = 20261121
SPIN_BELOW_NS = 10_000_000  # lerobot's defaults
SLEEP_ALL_BUT_NS = 3_000_000


def paced(hz: int, ticks: int) -> Iterator[None]:
    recorder = ticktree.Recorder()
    for _ in recorder.loop("control", range(ticks), hz=hz, pace=True):
        yield
    recorder.disable()


def sleeping(hz: int, ticks: int) -> Iterator[None]:
    period_ns = 1e9 / hz
    for _ in range(ticks):
        began_ns = perf_counter_ns()
        yield
        left_ns = period_ns - (perf_counter_ns() - began_ns)
        if left_ns > 0:
            time.sleep(left_ns / 1e9)


def sleeping_and_spinning(hz: int, ticks: int) -> Iterator[None]:
    period_ns = 1e9 / hz
    for _ in range(ticks):
        ends_ns = perf_counter_ns() + period_ns
        yield
        while (left_ns := ends_ns - perf_counter_ns()) > 0:
            if left_ns > SPIN_BELOW_NS:
                time.sleep((left_ns - SLEEP_ALL_BUT_NS) / 1e9)


WAYS: dict[str, Callable[[int, int], Iterator[None]]] = {
    "pace=True": paced,
    "time.sleep": sleeping,
    "precise_sleep": sleeping_and_spinning,
}


@dataclass(frozen=True, slots=True)
class Round:
    """What one way did in one second.

    Attributes:
        hz: ticks a second, from the first to the last.
        jitter_p50_us: how much a period differs from the target, in half of the ticks at most.
        jitter_p99_us: the same in 99 of 100 ticks.
        jitter_max_us: and in all.
        late_us: how long after its due time the last tick began: due times are multiples of the period from the first.
        cpu_share: processor time used besides the ticks' work, as a part of the time passed.
    """

    hz: float
    jitter_p50_us: float
    jitter_p99_us: float
    jitter_max_us: float
    late_us: float
    cpu_share: float


def work(duration_ns: float) -> None:
    ends_ns = perf_counter_ns() + duration_ns
    while perf_counter_ns() < ends_ns:
        pass


def play(way: Callable[[int, int], Iterator[None]], hz: int, seed: int) -> Round:
    """One round; of one seed, the ticks of all ways have the same work."""
    draw, period_ns = random.Random(seed), 1e9 / hz
    amounts = [draw.uniform(0, 2 * WORK_SHARE * period_ns) for _ in range(hz * ROUND_S + 1)]
    starts, worked_ns = [], 0
    cpu_ns = thread_time_ns()
    for amount, _ in zip(amounts, way(hz, len(amounts)), strict=False):
        starts.append(perf_counter_ns())
        before_ns = thread_time_ns()
        work(amount)
        worked_ns += thread_time_ns() - before_ns
    cpu_ns = thread_time_ns() - cpu_ns - worked_ns
    passed_ns = starts[-1] - starts[0]
    off_us = sorted(abs(end - start - period_ns) / 1e3 for start, end in pairwise(starts))
    return Round(
        hz=(len(starts) - 1) / passed_ns * 1e9,
        jitter_p50_us=nearest_rank(off_us, 0.5),
        jitter_p99_us=nearest_rank(off_us, 0.99),
        jitter_max_us=off_us[-1],
        late_us=(passed_ns - (len(starts) - 1) * period_ns) / 1e3,
        cpu_share=cpu_ns / passed_ns,
    )


def rounds(hz: int, count: int) -> dict[str, list[Round]]:
    """So many rounds of each way, in shuffled order."""
    order, results = random.Random(SEED), {name: list[Round]() for name in WAYS}
    for seed in range(count):
        for name in order.sample(list(WAYS), len(WAYS)):
            results[name].append(play(WAYS[name], hz, seed))
    return results


def way_figure(hz: int, name: str, rounds_played: list[Round]) -> Figure:
    return Figure.of_spread(
        f"{hz} Hz, {name}",
        Spread.of([result.jitter_p50_us for result in rounds_played]),
        "us",
        also={
            "p99 us": median(result.jitter_p99_us for result in rounds_played),
            "max us": median(result.jitter_max_us for result in rounds_played),
            "late after 1 s, us": median(result.late_us for result in rounds_played),
            "achieved Hz": median(result.hz for result in rounds_played),
            "CPU %": 100 * median(result.cpu_share for result in rounds_played),
        },
    )


def against(hz: int, peer: str, own_rounds: list[Round], peer_rounds: list[Round]) -> Figure:
    pairs = list(zip(own_rounds, peer_rounds, strict=True))
    return Figure.of_spread(
        f"{hz} Hz, pace=True / {peer}",
        Spread.of([own.jitter_p50_us / peer_round.jitter_p50_us for own, peer_round in pairs]),
        "x",
        target=1.0 if peer == "time.sleep" else None,
        also={
            "p99 us": median(own.jitter_p99_us / peer_round.jitter_p99_us for own, peer_round in pairs),
            "max us": median(own.jitter_max_us / peer_round.jitter_max_us for own, peer_round in pairs),
            "late after 1 s, us": median(own.late_us / peer_round.late_us for own, peer_round in pairs),
            "achieved Hz": median(own.hz / peer_round.hz for own, peer_round in pairs),
            "CPU %": median(own.cpu_share / peer_round.cpu_share for own, peer_round in pairs),
        },
        note="ratios",
    )


def main() -> None:
    arguments = options(__doc__).parse_args()
    count = QUICK_ROUNDS if arguments.quick else ROUNDS
    progress(f"about {len(RATES_HZ) * len(WAYS) * count * ROUND_S} s")
    lines = []
    for hz in RATES_HZ:
        results = rounds(hz, count)
        lines += [way_figure(hz, name, results[name]) for name in WAYS]
        own_way, *peers = WAYS
        lines += [against(hz, peer, results[own_way], results[peer]) for peer in peers]
    title = "How far a period is from the target: medians of rounds of a second"
    Report("jitter", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
