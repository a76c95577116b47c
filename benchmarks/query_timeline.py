"""Percentiles of millions of calls: time and memory of `ticktree query`, and of pandas over viztracer's JSON.

    python -m pip install 'ticktree[query]' pandas viztracer
    python benchmarks/query_timeline.py [--calls 5000000] [--peer-calls 500000] [--rounds 3] [--quick]

The calls are those of a synthetic loop, spread over five processes. They are written as a dataset (`ticktree export
--to parquet --table all`), and a query asks for the 50th, 99th and 99.9th percentile of each node. The peer answers
the same for a file with as many `log_event` blocks as `--peer-calls` sets, saved by viztracer: all of its
JSON must fit into memory. Each question is a separate process, alternating.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ticktree import Profile
from ticktree.cli.query import is_dataset
from ticktree.outputs import tabular
from ticktree.profile.timeline import CalledNode, Lane, Timeline

_PROCESSES = 5
_NAMES = ("train", "train/observe", "train/policy", "train/act", "train/learn", "train/learn/backward")
_SQL = """
SELECT path, count(*) AS calls, quantile_cont(duration_ns, [0.5, 0.99, 0.999]) AS percentiles_ns
FROM calls GROUP BY path ORDER BY path
"""
_PANDAS = """
import json, sys
import pandas
with open(sys.argv[1]) as file:
    events = json.load(file)["traceEvents"]
calls = pandas.DataFrame([event for event in events if event["ph"] == "X"], columns=["name", "dur"])
print(calls.groupby("name").dur.quantile([0.5, 0.99, 0.999]))
"""
_VIZTRACER = """
import sys
from viztracer import VizTracer
calls = int(sys.argv[1])
tracer = VizTracer(tracer_entries=calls + 1000, verbose=0, output_file=sys.argv[2], log_sparse=True)
tracer.start()
for _ in range(calls // 6):
    with tracer.log_event("train"):
        for name in ("observe", "policy", "act", "learn"):
            with tracer.log_event(name):
                if name == "learn":
                    with tracer.log_event("backward"):
                        pass
tracer.stop()
tracer.save()
"""


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    peak_bytes: int


def parts(calls: int) -> Iterator[Timeline]:
    """The timeline of one process after the other."""
    dice = np.random.default_rng(7)
    nodes = tuple(CalledNode(path, tick=path == "train") for path in _NAMES)
    for number in range(_PROCESSES):
        many = calls // _PROCESSES
        node_index = np.arange(many, dtype=np.int64) % len(nodes)
        duration = dice.lognormal(9 + 0.3 * node_index, 0.5).astype(np.int64)
        start = np.cumsum(dice.integers(500, 2000, many))
        lane = Lane(f"{4000 + number}-7", 4000 + number, "train", "", 4000 + number, "MainThread", 0)
        yield Timeline((lane,), nodes, start, duration, node_index, np.zeros(many, np.int64))


def write(folder: Path, calls: int) -> int:
    """Write the dataset, and return its bytes."""
    size = 0
    for name, content in tabular.files(Profile(), parts(calls)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        size += len(content)
    if not is_dataset(folder):
        sys.exit("what was written is no dataset")
    return size


def cost_of(command: Sequence[str | os.PathLike[str]]) -> Cost | None:
    """Run a command to its end; None where it fails, as without a library."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        complaint = process.stderr.read() if process.stderr else ""
    if process.returncode:
        print(complaint.strip().splitlines()[-1:] or "it failed", file=sys.stderr)
        return None
    return Cost(time.perf_counter() - begin, usage.ru_maxrss * 1024)


def report_line(name: str, costs: Sequence[Cost], calls: int, size: int) -> float:
    """Print what a question took, and return its seconds a million calls."""
    seconds = statistics.median(cost.seconds for cost in costs)
    peak = statistics.median(cost.peak_bytes for cost in costs)
    print(
        f"{name:<28}{calls:>10,} calls{seconds:8.2f} s{peak / 1e6:9.0f} MB at most{size / calls:8.1f} bytes a call"
    )
    return seconds / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=5_000_000)
    parser.add_argument("--peer-calls", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls, once")
    options = parser.parse_args()
    if options.quick:
        options.calls, options.peer_calls, options.rounds = options.calls // 10, options.peer_calls // 10, 1
    with tempfile.TemporaryDirectory() as scratch:
        large, small, theirs = (Path(scratch) / name for name in ("large", "small", "viztracer.json"))
        begin = time.perf_counter()
        size = write(large, options.calls)
        print(f"dataset of {options.calls:,} calls written in {time.perf_counter() - begin:.1f} s")
        small_size = write(small, options.peer_calls)
        query: list[str | Path] = [sys.executable, "-m", "ticktree", "query"]
        questions: dict[str, tuple[list[str | Path], int, int]] = {
            "ticktree query": ([*query, large, _SQL], options.calls, size),
            "ticktree query, fewer calls": ([*query, small, _SQL], options.peer_calls, small_size),
        }
        if cost_of([sys.executable, "-c", _VIZTRACER, str(options.peer_calls), theirs]) is not None:
            ask: list[str | Path] = [sys.executable, "-c", _PANDAS, theirs]
            questions["pandas, viztracer's JSON"] = (ask, options.peer_calls, theirs.stat().st_size)
        costs: dict[str, list[Cost]] = {name: [] for name in questions}
        for _ in range(options.rounds):
            for name, (command, _, _) in questions.items():
                cost = cost_of(command)
                costs[name] += [] if cost is None else [cost]
        print(f"median of {options.rounds}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        cost_per_million = {
            name: report_line(name, costs[name], *questions[name][1:]) for name in questions if costs[name]
        }
    peer = cost_per_million.get("pandas, viztracer's JSON")
    if peer is not None:
        print(f"a million calls: {cost_per_million['ticktree query'] / peer:.3f} of the peer's time")


if __name__ == "__main__":
    main()
