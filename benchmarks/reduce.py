"""Merging 1,000 and 10,000 profiles of 200 nodes: in one process, and as a tree with Ray; and what a fleet would take.

    python benchmarks/reduce.py [--profiles 1000,10000] [--nodes 200] [--engines process,ray] [--workers 1000000]

Each engine runs in a separate process, and its memory is what that process and all that it starts hold at most,
shared pages in proportion. What a million workers would take is reckoned, not run: from what reading a profile and
adding one to others cost here, and from the sizes of merged profiles.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from ticktree.fleet.merging import ENGINES, FAN_IN
from ticktree.loading import load
from ticktree.profile import Node, Profile, Stats
from ticktree.run.merging import Job, Part, merge_parts, read_part

BREADTH = 6
CALLS = 100
KINDS = 32  # profiles that differ; the others are the same under another run's name
SAMPLE_EVERY_S = 1.0
MANY = 256  # profiles from which the size of a merged one is estimated


class Cost(NamedTuple):
    """What merging one profile costs: reading and decoding it, and adding it to others, in seconds."""

    read_s: float
    add_s: float
    one_bytes: int
    many_bytes: int


def tree(nodes: int, rng: random.Random, run: str) -> Node:
    """Return a tree of so many nodes, each called as often as its parent, whose time covers theirs."""
    counter = iter(range(1, nodes))

    def grow(name: str, depth: int) -> tuple[Node, list[int]]:
        children: dict[str, Node] = {}
        durations = self_ns = [int(rng.lognormvariate(13, 0.3)) for _ in range(CALLS)]
        while depth < 3 and len(children) < BREADTH and (number := next(counter, None)) is not None:
            child, its = grow(f"section {number}", depth + 1)
            children[child.name] = child
            durations = [left + right for left, right in zip(durations, its, strict=True)]
        per_run = {run: (CALLS, sum(durations))}
        node = Node(
            name=name, self_ns=sum(self_ns), steady=Stats.of(durations), per_run=per_run, children=children
        )
        return node, durations

    return Node(name="root", children={"train": grow("train", 0)[0]})


def write(folder: Path, profiles: int, nodes: int) -> list[Path]:
    """Write so many profiles, of so many nodes each, and return their files."""
    texts = []
    for kind in range(min(KINDS, profiles)):
        profile = Profile(root=tree(nodes, random.Random(kind), "RUN-ID"))
        profile.check()
        texts.append(profile.to_json())
    paths = [folder / f"{number:06}.json" for number in range(profiles)]
    for number, path in enumerate(paths):
        path.write_text(texts[number % len(texts)].replace("RUN-ID", f"run-{number:06}"))
    return paths


def measured(name: str, paths: Sequence[Path]) -> tuple[float, float]:
    """Merge in a separate process; return seconds and the most megabytes held."""
    command = [sys.executable, __file__, "--merge", str(paths[0].parent), "--engines", name]
    process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    max_bytes = 0
    while process.poll() is None:
        max_bytes = max(max_bytes, held_bytes(process))
        time.sleep(SAMPLE_EVERY_S)
    text = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"the engine {name!r} failed")
    return json.loads(text)["seconds"], max_bytes / 1e6


def held_bytes(process: psutil.Process) -> int:
    """Return what a process and all that it started hold now."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except psutil.Error:  # it has just ended
            continue
    return total


def merge(folder: Path, name: str) -> None:
    """Merge all profiles of a folder, and print how long that took."""
    paths = sorted(folder.glob("*.json"))
    if name == "ray":  # a cluster is there before anybody merges on it
        import ray

        ray.init(num_cpus=os.cpu_count(), log_to_driver=False, include_dashboard=False)
    began_s = time.perf_counter()
    merged = ENGINES[name](paths, Job("benchmark", keeps_threads=False))
    seconds = time.perf_counter() - began_s
    if merged.sources != len(paths) or merged.profile.root.children["train"].count != CALLS * len(paths):
        raise SystemExit("not all profiles were merged")
    print(json.dumps({"seconds": seconds}))


def costs(paths: Sequence[Path]) -> Cost:
    """Measure what one profile costs: as the least of three, which what else runs here disturbs least."""
    job = Job("benchmark", keeps_threads=False)
    batch = paths[:FAN_IN]
    read_s, add_s = math.inf, math.inf
    parts: list[Part] = []
    for _ in range(3):
        began_s = time.perf_counter()
        parts = [read_part(path, job, load) for path in batch]
        read_s = min(read_s, time.perf_counter() - began_s)
        began_s = time.perf_counter()
        merge_parts(parts)
        add_s = min(add_s, time.perf_counter() - began_s)
    many = ENGINES["process"](paths[:MANY], job)
    sizes = [len(part.profile.to_json()) for part in (parts[0], many)]
    return Cost(read_s / len(batch), add_s / len(batch), *sizes)


def levels(workers: int, fan_in: int) -> Iterator[tuple[int, int]]:
    """Yield for each level of a tree, the leaves first: how many tasks it has, and how many parts go into them."""
    parts = workers
    while parts > 1:
        tasks = -(-parts // fan_in)
        yield tasks, parts
        parts = tasks


def fleet(workers: int, fan_in: int, cost: Cost) -> None:
    """Print what a fleet's profiles would take, were each level's tasks all run at once, and were they not."""
    print(f"\n{workers:,} workers, fan-in {fan_in}, reckoned from what was measured here:")
    print(f"{1e3 * cost.read_s:.1f} ms to read a profile, {1e3 * cost.add_s:.1f} ms to add it to others,")
    print(f"{cost.one_bytes / 1e3:.0f} KB before and {cost.many_bytes / 1e3:.0f} KB after merging")
    print(
        f"{'level':>5} {'tasks':>9} {'parts':>9} {'bytes moved':>14} {'time, all at once':>18} {'CPU time':>12}"
    )
    total_s = at_once_s = 0.0
    for level, (tasks, parts) in enumerate(levels(workers, fan_in), start=1):
        part_bytes = cost.one_bytes if level == 1 else cost.many_bytes
        # A part is read at every level: between tasks it is the same text as in a file.
        task_s = min(fan_in, parts) * (cost.read_s * part_bytes / cost.one_bytes + cost.add_s)
        at_once_s += task_s
        total_s += task_s * tasks
        traffic = f"{parts * part_bytes / 1e9:,.3f} GB"
        print(
            f"{level:>5} {tasks:>9,} {parts:>9,} {traffic:>14} {task_s:>16.2f} s {task_s * tasks:>10,.0f} s"
        )
    print(f"in all {at_once_s:.2f} s with a core for each task of a level, {total_s / 3600:,.1f} core hours")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profiles", default="1000,10000", help="how many, with commas between")
    parser.add_argument("--nodes", type=int, default=200, help="of each profile")
    parser.add_argument("--engines", default="process,ray", help="which, with commas between")
    parser.add_argument("--workers", type=int, default=1_000_000, help="of the fleet that is reckoned")
    parser.add_argument("--merge", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.merge:
        merge(options.merge, options.engines)
        return
    cost = None
    print(f"{'profiles':>9} {'engine':>8} {'time':>9} {'a profile':>10} {'memory':>10}  against one process")
    for count in map(int, options.profiles.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            paths = write(Path(folder), count, options.nodes)
            cost = cost or costs(paths)
            first_s = 0.0
            for name in options.engines.split(","):
                seconds, megabytes = measured(name, paths)
                first_s = first_s or seconds
                print(f"{count:>9,} {name:>8} {seconds:>7.1f} s {1e3 * seconds / count:>7.2f} ms {megabytes:>7,.0f} MB"
                      f"  {seconds / first_s:.2f}", flush=True)  # fmt: skip
    if cost is not None:
        fleet(options.workers, FAN_IN, cost)


if __name__ == "__main__":
    main()
