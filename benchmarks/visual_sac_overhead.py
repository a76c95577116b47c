"""Cost of ticktree in a real training run: the visual SAC workload with and without it, alternating step by step.

Two processes train from the same seed and so do the same work, one under `ticktree run`, the other with
TICKTREE_OFF=1. They take turns: while one makes a step, the other waits. What the machine does to one it
does to the other a moment later, so the ratio of two neighbouring laps is free of it. What a process has
for all its life, such as where its memory happens to lie, is not: hence several pairs of processes, and an
interval over the pairs.
"""

from __future__ import annotations

import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from harness.report import Absent, Figure, Report, options, progress

TRAINER = Path(__file__).with_name("sac_trainer.py")
TARGET_PERCENT = 1.0
SMALL_BATCH = 16
QUICK_SHARE = 4  # a quick look takes that much fewer laps
# Two-sided 95% quantiles of Student's t for 1, 2, ... degrees of freedom.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
REQUIRED_MODULES = ("cv2", "gymnasium", "psutil", "pygame", "torch")


class Work(NamedTuple):
    """Work that a trainer does on request."""

    name: str
    kind: str  # as the trainer calls it
    warm_up: int  # steps before the first lap
    steps: int  # in a lap, which is kept short: the closer two laps follow each other the better they compare
    laps: int


def works(batch: int) -> list[Work]:
    """What is compared. An update has as many sections whatever the batch: a small one is the harder test."""
    return [
        Work("environment steps alone", "collect", warm_up=20, steps=5, laps=150),
        Work(f"step and update, batch {SMALL_BATCH}", f"train:{SMALL_BATCH}", warm_up=3, steps=1, laps=48),
        Work(f"step and update, batch {batch}", f"train:{batch}", warm_up=3, steps=1, laps=16),
    ]


class Lap(NamedTuple):
    """What one lap took one trainer."""

    wall_ns: int
    cpu_ns: int


class Trainer:
    """A training process that works only on request."""

    def __init__(self, *, profiled: bool, batch: int, folder: Path) -> None:
        self._profiled = profiled
        command = [str(TRAINER), str(batch)]
        if profiled:
            command = ["-m", "ticktree", "run", "--quiet", "--out", str(folder), *command]
        environment = dict(os.environ)
        environment.pop("TICKTREE_OFF", None)
        if not profiled:
            environment["TICKTREE_OFF"] = "1"
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=folder,
        )

    def stop(self) -> None:
        """Let it end by itself, as its input does."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def wait_until_ready(self) -> None:
        """Wait for the buffer to be filled.

        Raises:
            RuntimeError: it records although it must not, or does not although it must.
        """
        expected_state = "recording" if self._profiled else "off"
        state = self._answer()
        if state != expected_state:
            raise RuntimeError(f"a trainer that should be {expected_state} is {state}")

    def lap(self, kind: str, steps: int) -> Lap:
        """Let it make that many steps."""
        assert self._process.stdin is not None
        print(kind, steps, file=self._process.stdin, flush=True)
        return Lap(*map(int, self._answer().split()))

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise RuntimeError("a trainer ended before it was done")
        return answer


class PairedLaps(NamedTuple):
    """The laps of one pair of processes, in order."""

    profiled: Sequence[Lap]
    bare: Sequence[Lap]

    def log_ratio(self, field: str) -> float:
        """The median over the laps of the logarithm of time with ticktree by time without."""
        pairs = zip(self.profiled, self.bare, strict=True)
        return statistics.median(math.log(getattr(a, field) / getattr(b, field)) for a, b in pairs)


def run_pair(requested: Sequence[Work], batch: int, folder: Path) -> dict[Work, PairedLaps]:
    """Start two trainers and let them take turns; who goes first alternates, too."""
    with ExitStack() as stack:
        profiled, bare = (
            Trainer(profiled=is_profiled, batch=batch, folder=folder) for is_profiled in (True, False)
        )
        for trainer in (profiled, bare):
            stack.callback(trainer.stop)
        for trainer in (profiled, bare):
            trainer.wait_until_ready()
        results = {}
        for work in requested:
            for trainer in (profiled, bare):
                trainer.lap(work.kind, work.warm_up)
            laps: dict[Trainer, list[Lap]] = {profiled: [], bare: []}
            for number in range(work.laps):
                order = (profiled, bare) if number % 2 == 0 else (bare, profiled)
                for trainer in order:
                    laps[trainer].append(trainer.lap(work.kind, work.steps))
            results[work] = PairedLaps(laps[profiled], laps[bare])
    return results


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean and its 95% confidence interval; infinitely wide for a single value."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, -math.inf, math.inf
    freedom = len(values) - 1
    t = STUDENT_T[freedom - 1] if freedom <= len(STUDENT_T) else 1.96 + 2.4 / freedom
    reach = t * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


def figure(work: Work, field: str, clock: str, pairs: Sequence[PairedLaps]) -> Figure:
    """How many of the steps per second ticktree takes."""
    ratios = [pair.log_ratio(field) for pair in pairs]
    # Steps per second go as one by the time.
    lost, low, high = (100.0 * (1.0 - math.exp(-value)) for value in interval(ratios))
    bare_ns = statistics.median(getattr(lap, field) for pair in pairs for lap in pair.bare)
    return Figure(
        f"{work.name}, {clock}",
        lost,
        "% of steps/s",
        repeats=len(pairs) * work.laps,
        also={"95% from": low, "to": high, "steps/s bare": work.steps * 1e9 / bare_ns},
        note=certainty(low, high),
    )


def certainty(low: float, high: float) -> str:
    """The verdict of the interval, not of its middle, on the target."""
    if high <= TARGET_PERCENT:
        return "target met"
    return "target missed" if low > TARGET_PERCENT else "cannot tell: the machine is too restless"


def measure(pairs: int, share: int, batch: int) -> Report:
    title = f"Steps per second lost to ticktree in visual SAC, target {TARGET_PERCENT:g}%, {pairs} pairs of processes"
    requested = [work._replace(laps=max(2, work.laps // share)) for work in works(batch)]
    missing = [name for name in REQUIRED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)} (workloads/visual_sac/requirements.txt)"
        return Report("visual_sac_overhead", title, [Absent(work.name, reason) for work in requested])
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pairs):
            progress(f"pair {number + 1} of {pairs}")
            results.append(run_pair(requested, batch, Path(folder)))
    clocks = {"wall_ns": "on the clock", "cpu_ns": "processor time"}
    lines = [
        figure(work, field, clock, [result[work] for result in results])
        for work in requested
        for field, clock in clocks.items()
    ]
    return Report("visual_sac_overhead", title, lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, help="pairs of processes (default: 6, quick: 3)")
    parser.add_argument("--batch", type=int, default=256, help="transitions an update (default: %(default)s)")
    arguments = parser.parse_args()
    pairs = arguments.pairs or (3 if arguments.quick else 6)
    if pairs < 2:
        parser.error("one pair of processes gives no interval")
    measure(pairs, QUICK_SHARE if arguments.quick else 1, arguments.batch).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
