"""Predictions of `ticktree whatif`, compared with the real gain from a shorter section.

Programs whose sections overlap: pipelines of threads and of processes, fork and join with a straggler, a lock that all
need, threads that need the GIL. Each is run under `ticktree whatif`, and then alone, in turn as it is and with the
section shortened; the gain of a section is how much shorter the mean tick of the loop became. Printed is by how many
points the prediction was wrong, and whether its interval held the truth.

    python benchmarks/whatif.py [--ticks N] [--rounds N] [--speedup PERCENT] [PIPELINE ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ticktree

MS = 1e-3
Scales = dict[str, float]
WhatIfResult = dict[str, Any]  # a result of `ticktree whatif --format json`


def rest(seconds: float) -> None:
    time.sleep(seconds)


def compute(seconds: float) -> None:
    """Works in Python, with the GIL: so many rounds, however long they take."""
    for _ in range(int(seconds * 100_000_000)):
        pass


class Pipeline:
    """Sections with lengths that can be shortened, and the loop whose ticks are measured."""

    def __init__(self, lengths_ms: dict[str, float], scales: Scales, work: Callable[[float], None]) -> None:
        self._s = {name: ms * MS * scales.get(name, 1.0) for name, ms in lengths_ms.items()}
        self._work = work

    def do(self, name: str) -> None:
        """Work in a section."""
        with ticktree.section(name):
            self._work(self._s[name])


def measured(ticks: int, tick: Callable[[], None]) -> float:
    """Seconds per tick, without the first tenth."""
    warmup_ticks, began = ticks // 10, 0.0
    for number in ticktree.loop("main"):
        if number == warmup_ticks:
            began = time.perf_counter()
        if number == ticks:
            break
        tick()
    return (time.perf_counter() - began) / (ticks - warmup_ticks)


def stages(ticks: int, pipeline: Pipeline, names: list[str], bound: int) -> float:
    """Threads with queues between them; the last stage is the loop."""
    queues: list[queue.Queue[int]] = [queue.Queue(bound) for _ in names[1:]]

    def run(index: int) -> None:
        for _ in range(ticks):
            if index:
                queues[index - 1].get()
            pipeline.do(names[index])
            queues[index].put(1)

    for index in range(len(names) - 1):
        threading.Thread(target=run, args=(index,), daemon=True).start()

    def tick() -> None:
        queues[-1].get()
        pipeline.do(names[-1])

    return measured(ticks, tick)


def two_stage(ticks: int, scales: Scales) -> float:
    return stages(ticks, Pipeline({"produce": 5, "consume": 3}, scales, rest), ["produce", "consume"], 2)


def three_stage(ticks: int, scales: Scales) -> float:
    lengths: dict[str, float] = {"load": 3, "transform": 6, "learn": 4}
    return stages(ticks, Pipeline(lengths, scales, rest), list(lengths), 4)


def gil(ticks: int, scales: Scales) -> float:
    return stages(ticks, Pipeline({"produce": 4, "consume": 4}, scales, compute), ["produce", "consume"], 2)


def straggler(ticks: int, scales: Scales) -> float:
    pipeline = Pipeline({"quick": 3, "slow": 6, "reduce": 2}, scales, rest)
    tasks: list[queue.Queue[int]] = [queue.Queue() for _ in range(3)]
    done: queue.Queue[int] = queue.Queue()

    def work(index: int) -> None:
        while True:
            tasks[index].get()
            pipeline.do("slow" if index == 2 else "quick")
            done.put(index)

    for index in range(3):
        threading.Thread(target=work, args=(index,), daemon=True).start()

    def tick() -> None:
        for task in tasks:
            task.put(1)
        for _ in tasks:
            done.get()
        pipeline.do("reduce")

    return measured(ticks, tick)


def convoy(ticks: int, scales: Scales) -> float:
    pipeline = Pipeline({"locked": 3, "free": 2, "mine": 3, "pause": 2}, scales, rest)
    lock = multiprocessing.Lock()
    over = threading.Event()

    def once() -> None:
        with lock:
            pipeline.do("mine")
        pipeline.do("pause")

    def run() -> None:
        while not over.is_set():
            with lock:
                pipeline.do("locked")
            pipeline.do("free")

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    took = measured(ticks, once)
    over.set()
    for thread in threads:
        thread.join()
    return took


def processes(ticks: int, scales: Scales) -> float:
    pipeline = Pipeline({"simulate": 5, "learn": 3}, scales, rest)
    near, far = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        for _ in range(ticks):
            pipeline.do("simulate")
            far.send(1)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()

    def tick() -> None:
        near.recv()
        pipeline.do("learn")

    took = measured(ticks, tick)
    process.join()
    return took


def actors(ticks: int, scales: Scales) -> float:
    """A learner that is slower than the actors that fill its bounded queue."""
    pipeline = Pipeline({"act": 6, "learn": 5}, scales, rest)
    batches: multiprocessing.Queue[int] = multiprocessing.Queue(2)

    def run() -> None:
        while True:
            pipeline.do("act")
            batches.put(1)

    workers = [multiprocessing.get_context("fork").Process(target=run, daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()

    def tick() -> None:
        batches.get()
        pipeline.do("learn")

    took = measured(ticks, tick)
    for worker in workers:
        worker.terminate()
    return took


PIPELINES: dict[str, tuple[Callable[[int, Scales], float], tuple[str, ...]]] = {
    "two-stage": (two_stage, ("produce", "main/consume")),
    "three-stage": (three_stage, ("load", "transform", "main/learn")),
    "straggler": (straggler, ("quick", "slow", "main/reduce")),
    "convoy": (convoy, ("locked", "free", "main/mine")),
    "gil": (gil, ("produce", "main/consume")),
    "processes": (processes, ("simulate", "main/learn")),
    "actors": (actors, ("act", "main/learn")),
}


def run_alone(name: str, ticks: int, scales: Scales) -> float:
    """Seconds per tick without ticktree."""
    words = [sys.executable, __file__, "--child", name, "--ticks", str(ticks), json.dumps(scales)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "TICKTREE_OFF": "1"}
    )
    return float(done.stdout.split()[-1])


def predict(name: str, ticks: int, percent: int, seed: int) -> list[WhatIfResult]:
    """The predictions of `ticktree whatif`."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "found.json")
        words = ["whatif", "--speedup", str(percent), "--seed", str(seed), "-o", str(output)]
        for section in PIPELINES[name][1]:
            words += ["--section", section]
        command = [sys.executable, "-m", "ticktree", *words, "--out", folder, __file__]
        done = subprocess.run(
            [*command, "--child", name, "--ticks", str(ticks), "{}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if not output.exists():
            raise SystemExit(f"{name}: {done.stderr}")
        results: list[WhatIfResult] = json.loads(output.read_text())["results"]
        return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pipelines", nargs="*", metavar="PIPELINE", help=f"of {', '.join(PIPELINES)}; all by default"
    )
    parser.add_argument("--ticks", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2, help="how often the truth is measured")
    parser.add_argument("--trials", type=int, default=1, help="how often it is predicted")
    parser.add_argument("--speedup", type=int, default=50)
    options = parser.parse_args()
    errors, covered = [], []
    for name in options.pipelines or PIPELINES:
        truths = truth_of(name, options.ticks // 10, options.rounds, options.speedup)
        for trial in range(options.trials):
            for result in predict(name, options.ticks, options.speedup, trial + 1):
                truth = truths[str(result["path"])]
                errors.append(print_row(name, result, truth))
                covered.append(
                    result["low_percent"] is not None
                    and result["low_percent"] <= truth <= result["high_percent"]
                )
    known_errors = sorted(error for error in errors if error is not None)
    if known_errors:
        tenth = known_errors[int(0.9 * (len(known_errors) - 1) + 0.5)]
        print(f"median error {statistics.median(known_errors):.1f} points, 90th percentile {tenth:.1f}")
    print(f"intervals that held the truth: {sum(covered)} of {len(covered)}")


def truth_of(name: str, ticks: int, rounds: int, percent: int) -> dict[str, float]:
    """How much shorter the tick becomes, in percent, with each section shortened.

    By the shortest of some rounds: these programs sleep, and what makes them longer is the machine.
    """
    took: dict[str, list[float]] = {}
    for _ in range(rounds):
        for path in ("", *PIPELINES[name][1]):
            scales = {path.split("/")[-1]: 1 - percent / 100} if path else {}
            took.setdefault(path, []).append(run_alone(name, ticks, scales))
    base = min(took.pop(""))
    return {path: 100 * (1 - min(durations) / base) for path, durations in took.items()}


def print_row(name: str, result: WhatIfResult, truth: float) -> float | None:
    gain, low, high = result["gain_percent"], result["low_percent"], result["high_percent"]
    if not isinstance(gain, float) or not isinstance(low, float) or not isinstance(high, float):
        print(f"{name:12} {result['path']:14} truth {truth:5.1f}%  {result['verdict']}", flush=True)
        return None
    print(
        f"{name:12} {result['path']:14} truth {truth:5.1f}%  predicted {gain:5.1f}% ({low:.1f} to {high:.1f})  "
        f"Amdahl {result['amdahl_percent']:5.1f}%  {result['verdict']}",
        flush=True,
    )
    return abs(gain - truth)


def child(words: list[str]) -> None:
    name, _, ticks, scales = words
    with contextlib.suppress(BrokenPipeError):
        print(PIPELINES[name][0](int(ticks), json.loads(scales)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
