"""Where the parallel trainer spends its time: with one or four workers, in lockstep, in a thread, with a straggler.

Each way of running it is a separate process under `ticktree run`, in turn, `--repeats` times. All figures
are read from the profiles of those runs: shares are of the time the controller spends advancing, those of workers of
their lives once they have an environment. On a machine that is not ours alone medians of single calls (p50) tell more.
"""

from __future__ import annotations

import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import ticktree
from harness.report import Absent, Figure, Report, options, progress
from ticktree.profile import Node, Profile

SCRIPT = Path(__file__).parents[1] / "workloads" / "parallel_trainer" / "train.py"
REQUIRED_MODULES = ("gymnasium", "mujoco", "torch")
STRAGGLER_MS = 5
START = "TrainerController.start_learning"
ADVANCE = f"{START}/TrainerController.advance"
WORKER = f"{START}/workers/worker_root"
CHOOSE = f"{ADVANCE}/env_step/SubprocessEnvManager._take_step"
SEND = f"{ADVANCE}/env_step/communicator.exchange/step_async"
WAIT = f"{ADVANCE}/env_step/communicator.exchange/step_wait"
THREAD = f"{START}/trainer_threads/thread_root"


class Way(NamedTuple):
    """A way of running the trainer."""

    name: str
    workers: int
    arguments: tuple[str, ...] = ()


WAYS = (
    Way("1 worker", 1),
    Way("4 workers", 4),
    Way("4, straggler", 4, ("--slow-worker", f"2={STRAGGLER_MS}")),
    Way("4 in lockstep", 4, ("--lockstep",)),
    Way("4 in lockstep, straggler", 4, ("--lockstep", "--slow-worker", f"2={STRAGGLER_MS}")),
    Way("4 in lockstep, batched", 4, ("--lockstep", "--batched")),
    Way("4, learner in a thread", 4, ("--threaded",)),
)


class Shares:
    """What one run's profile shows, in percent of the time spent advancing, or of the workers' lives."""

    def __init__(self, profile: Profile, way: Way, steps: int) -> None:
        self._root = profile.root
        self._way = way
        self._steps = steps
        self.advance_ns = self._ns(ADVANCE)

    def steps_per_second(self) -> float:
        """Of all workers together."""
        return self._steps * 1e9 / self.advance_ns

    def choosing(self) -> float:
        """The policy."""
        return self._share(self._ns(CHOOSE))

    def sending(self) -> float:
        """Actions to workers."""
        return self._share(self._ns(SEND))

    def waiting(self) -> float:
        """For steps, or for a learner that is behind."""
        return self._share(
            self._ns(WAIT) + self._ns(f"{ADVANCE}/env_step/process_steps/trajectory_queue.put")
        )

    def learning(self) -> float:
        """Updates, wherever they are done."""
        above = THREAD if "--threaded" in self._way.arguments else ADVANCE
        return self._share(self._ns(f"{above}/trainer_advance/_update_policy"))

    def stepping(self) -> float:
        """Workers, in their environments."""
        return self._share_of_workers(self._ns(f"{WORKER}/env.step") + self._ns(f"{WORKER}/env.reset"))

    def idle(self) -> float:
        """Workers, until their next action comes."""
        return self._share_of_workers(self._ns(f"{WORKER}/request"))

    def median_us(self, path: str) -> float:
        """Of one call."""
        node = self._at(path)
        median_ns = node.steady.p50_ns if node else None
        return median_ns / 1000.0 if median_ns is not None else math.nan

    def _share(self, ns: float) -> float:
        return 100.0 * ns / self.advance_ns

    def _share_of_workers(self, ns: float) -> float:
        return 100.0 * ns / (self._ns(WORKER) - self._ns(f"{WORKER}/env.make"))

    def _ns(self, path: str) -> int:
        node = self._at(path)
        return node.total_ns if node else 0

    def _at(self, path: str) -> Node | None:
        node: Node | None = self._root
        for name in path.split("/"):
            node = node.children.get(name) if node else None
        return node


COLUMNS: dict[str, Callable[[Shares], float]] = {
    "choose %": Shares.choosing,
    "send %": Shares.sending,
    "wait %": Shares.waiting,
    "learn %": Shares.learning,
    "workers step %": Shares.stepping,
    "idle %": Shares.idle,
    "choose us": lambda shares: shares.median_us(CHOOSE),
    "send us": lambda shares: shares.median_us(SEND),
    "wait us": lambda shares: shares.median_us(WAIT),
    "step us": lambda shares: shares.median_us(f"{WORKER}/env.step"),
}


def run(way: Way, steps: int, environment: str) -> Shares:
    """Run the trainer this way once.

    Raises:
        RuntimeError: It did not end well.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            "--env",
            environment,
            "--steps",
            str(steps),
            "--workers",
            str(way.workers),
            *way.arguments,
        ]
        command = [sys.executable, "-m", "ticktree", "run", "--quiet", str(SCRIPT), *arguments]
        variables = {name: value for name, value in os.environ.items() if name != "TICKTREE_OFF"}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{way.name}: exit status {done.returncode}\n{done.stderr}")
        (directory,) = (Path(folder) / "ticktree-runs").glob("*-*")
        return Shares(ticktree.load(directory), way, steps)


def figure(way: Way, runs: Sequence[Shares]) -> Figure:
    """The medians of some runs."""
    rates = sorted(shares.steps_per_second() for shares in runs)
    also = {name: statistics.median(map(column, runs)) for name, column in COLUMNS.items()}
    rate = statistics.median(rates)
    return Figure(
        way.name,
        rate,
        "steps/s",
        rates[0],
        rates[-1],
        repeats=len(runs),
        also=also,
        note=" ".join(way.arguments),
    )


def measure(steps: int, repeats: int, environment: str) -> Report:
    title = f"{environment}, {steps} steps: medians of {repeats} runs, from the slowest to the fastest"
    missing = [name for name in REQUIRED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)} (workloads/parallel_trainer/requirements.txt)"
        return Report("parallel_trainer_shares", title, [Absent(way.name, reason) for way in WAYS])
    runs: dict[Way, list[Shares]] = {way: [] for way in WAYS}
    for number in range(repeats):  # in turn: what the machine does to one it does to all
        for way in WAYS:
            progress(f"{number + 1} of {repeats}: {way.name}")
            runs[way].append(run(way, steps, environment))
    return Report(
        "parallel_trainer_shares", title, [figure(way, runs_of_way) for way, runs_of_way in runs.items()]
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--steps", type=int, help="steps of a run (default: 12000, quick: 3000)")
    parser.add_argument("--repeats", type=int, help="runs of each kind (default: 3, quick: 1)")
    parser.add_argument("--env", default="InvertedPendulum-v5", help="the task (default: %(default)s)")
    chosen = parser.parse_args()
    steps = chosen.steps or (3000 if chosen.quick else 12_000)
    repeats = chosen.repeats or (1 if chosen.quick else 3)
    measure(steps, repeats, chosen.env).print(as_json=chosen.json)


if __name__ == "__main__":
    main()
