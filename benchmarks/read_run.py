"""Time and memory to read a run of many processes.

The files are real: a recorder wrote each of them, one after the other in this process, as so many processes would
have. Two others read the same run: every process's profile kept as JSON, read and merged by ticktree itself; and every
process's timers kept as JSON in the shape of ml-agents' timer files, read with `json.loads` and summed by hand,
without histograms, windows or threads, as a program would that merges its workers' timers itself.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from harness.race import SEED
from harness.report import Figure, Report, options, progress
from harness.spread import Spread
from ticktree.profile import Node, Profile
from ticktree.recorder import Recorder
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images

TARGET_S = 2.0
PHASES = ("reset", "observe", "act", "step", "send")
KIB = 1 << 10
MIB = 1 << 20


def read_file(path: Path) -> Profile:
    """Return the profile of one memory file."""
    return read_images([Image.of_file(path)], path.name, [])


class Way(NamedTuple):
    """One way to keep and to read a run."""

    name: str
    ending: str
    read: Callable[[list[Path]], object]
    note: str


def record_worker(path: Path, number: int, episodes: int) -> None:
    """The memory file of one environment worker: 31 nodes, a loop and a gauge."""
    chance = random.Random(SEED + number)
    recorder = Recorder()
    recorder.open(path, identity=(100_000 + number, 1_000 + number, "boot"))
    recorder.enable()
    with recorder.section("worker"):
        for _ in recorder.loop("episode", range(episodes), hz=100):
            for phase in PHASES:
                with recorder.section(phase):
                    for part in range(4):
                        recorder.record_duration(f"{phase} {part}", chance.lognormvariate(-7, 1))
            recorder.gauge("reward", chance.random())
    recorder.disable()


def read_one(path: Path) -> Profile:
    """The profile of one memory file."""
    return read_images([Image.of_file(path)], path.name, [])


def record_run(folder: Path, processes: int) -> list[Path]:
    """The memory files of a run."""
    files = [folder / f"{100_000 + number}-{1_000 + number}.tt" for number in range(processes)]
    for number, path in enumerate(files):
        record_worker(path, number, episodes=100)
        profile = read_one(path)
        profile.check()
        path.with_suffix(".profile").write_text(profile.to_json())
        path.with_suffix(".timers").write_text(json.dumps(timers_of(profile.root)))
    return files


def timers_of(node: Node) -> dict[str, Any]:
    """A node as ml-agents writes it, times in seconds."""
    return {
        "name": node.name,
        "total": node.total_ns / 1e9,
        "count": node.count,
        "self": node.self_ns / 1e9,
        "children": {name: timers_of(child) for name, child in node.children.items()},
    }


def read_memory_files(files: list[Path]) -> Profile:
    """As every command does that is given a run: all files are looked at first, and then joined."""
    return read_images([Image.of_file(path) for path in files], "run", [])


def read_profiles(files: list[Path]) -> Profile:
    """The same from JSON."""
    first, *rest = (Profile.from_json(path.read_bytes()) for path in files)
    return first.merge(*rest)


def read_timers(files: list[Path]) -> dict[str, Any]:
    """Sums of what the timer files hold, and nothing else."""
    merged: dict[str, Any] = {"total": 0.0, "count": 0, "self": 0.0, "children": {}}
    for path in files:
        add_timers(merged, json.loads(path.read_bytes()))
    return merged


def add_timers(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key in ("total", "count", "self"):
        into[key] += more[key]
    for name, child in more["children"].items():
        empty = {"total": 0.0, "count": 0, "self": 0.0, "children": {}}
        add_timers(into["children"].setdefault(name, empty), child)


WAYS = (
    Way("memory files", ".tt", read_memory_files, "copied, checked, joined: histograms, windows, threads"),
    Way("profiles as JSON", ".profile", read_profiles, "the same profiles, by from_json and merge"),
    Way("timers as JSON", ".timers", read_timers, "by hand: totals and counts alone"),
)


def watch(ending: str, files: list[Path], repeats: int, sender: Connection) -> None:
    """The whole life of a process that reads the run: how long it took each time, and memory before and at most."""
    (way,) = (way for way in WAYS if way.ending == ending)
    files = [path.with_suffix(way.ending) for path in files]
    resident = most_resident()
    seconds, busy = [], []
    for _ in range(repeats):
        began, start_cpu_s = time.perf_counter(), time.process_time()
        result = way.read(files)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - start_cpu_s)
        del result
    sender.send((seconds, busy, resident, most_resident()))


def most_resident() -> int:
    """Bytes this process had in memory at most."""
    unit = 1 if sys.platform == "darwin" else KIB
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the run: on tmpfs as in life, where there is one."""
    shm = Path("/dev/shm")
    with TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        yield Path(folder)


def figure(way: Way, files: list[Path], repeats: int) -> Figure:
    """Measures one way in a fresh process."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=watch, args=(way.ending, files, repeats, sender))
    process.start()
    sender.close()
    with receiver:
        seconds, busy, before, max_bytes = receiver.recv()
    process.join()
    spread = Spread.of(busy)  # a busy neighbour is not charged to anyone
    size = sum(path.with_suffix(way.ending).stat().st_size for path in files)
    return Figure.of_spread(
        way.name,
        spread,
        "s of CPU",
        target=TARGET_S if way is WAYS[0] else None,
        also={
            "wall s": Spread.of(seconds).median,
            "files/s": len(files) / spread.median,
            "MiB resident at most": (max_bytes - before) / MIB,
            "MiB of files": size / MIB,
        },
        note=way.note,
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--processes", type=int, default=1000, help="files in the run (default: 1000)")
    arguments = parser.parse_args()
    repeats = 3 if arguments.quick else 9
    with scratch() as folder:
        progress(f"recording {arguments.processes} processes")
        files = record_run(folder, arguments.processes)
        nodes = sum(1 for _ in read_one(files[0]).root.walk())
        lines = [figure(way, files, repeats) for way in WAYS]
    title = f"Reading a run of {len(files)} processes of {nodes} nodes each"
    Report("read_run", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
