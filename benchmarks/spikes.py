"""The rare expensive section: in a loop at 1 kHz, while another process writes to disk.

The loop runs in slices of a second, with a section in each tick and without in turn, until each has had its
minute, so that both meet the same disturbances. What is timed is only the section, or the nothing in its
place; the tick sleeps the rest of its millisecond, as a control loop does, and so every section comes to a
core that has just slept.

A profiler whose memory lay in a disk file would show here: dirty pages are write-protected when they are
written back, and the next section that touches one waits for the disk.
"""

from __future__ import annotations

import os
import resource
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns

import ticktree
from harness.report import Figure, Report, options, progress
from harness.scratch import recording
from harness.spread import nearest_rank

PERIOD_NS = 1_000_000
SLICE_TICKS = 1_000
SLICES = 60
QUICK_SLICES = 3
CHUNK = 4 << 20  # bytes of one write
FILE_CHUNKS = 64  # the file is then written again from its start


@dataclass(slots=True)
class Ticks:
    """What was timed in every tick of one kind of loop.

    Attributes:
        cost_ns: nanoseconds of what was timed.
        preempted: how many of the ticks lost the core while being timed.
    """

    cost_ns: array[int] = field(default_factory=lambda: array("q"))
    preempted: int = 0


def sleep_until(deadline_ns: int) -> int:
    """Sleeps, and returns the next deadline: a period on, or from now where this one has long been missed."""
    left_ns = deadline_ns - perf_counter_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    return max(deadline_ns, perf_counter_ns() - PERIOD_NS) + PERIOD_NS


def slice_with_sections(ticks: Ticks, count: int) -> None:
    section, add = ticktree.section, ticks.cost_ns.append
    deadline_ns = perf_counter_ns() + PERIOD_NS
    for _ in repeat(None, count):
        lost = cores_lost()
        start = perf_counter_ns()
        with section("tick"):
            pass
        add(perf_counter_ns() - start)
        ticks.preempted += cores_lost() != lost
        deadline_ns = sleep_until(deadline_ns)


def slice_without(ticks: Ticks, count: int) -> None:
    add = ticks.cost_ns.append
    deadline_ns = perf_counter_ns() + PERIOD_NS
    for _ in repeat(None, count):
        lost = cores_lost()
        start = perf_counter_ns()
        add(perf_counter_ns() - start)
        ticks.preempted += cores_lost() != lost
        deadline_ns = sleep_until(deadline_ns)


def cores_lost() -> int:
    """How often something else was given this thread's core; the process's, where only that is known."""
    scope = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return resource.getrusage(scope).ru_nivcsw


def write_forever(folder: str, byte_count: Synchronized[int]) -> None:
    """The neighbour: writes a file over and over, each chunk all the way to the disk."""
    chunk = os.urandom(CHUNK)
    with Path(folder, "neighbour").open("wb") as file:
        while True:
            file.seek(0)
            for _ in range(FILE_CHUNKS):
                file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
                byte_count.value += CHUNK


@contextmanager
def disk_writer(folder: Path) -> Iterator[Synchronized[int]]:
    """Another process that writes to disk meanwhile; gives the count of bytes that have got there."""
    context = get_context("spawn")
    byte_count: Synchronized[int] = context.Value("Q", 0)
    with TemporaryDirectory(dir=folder, prefix="spikes-") as scratch:
        process = context.Process(target=write_forever, args=(scratch, byte_count), daemon=True)
        process.start()
        try:
            while not byte_count.value:
                time.sleep(0.01)
                if not process.is_alive():
                    raise RuntimeError(f"nothing could be written to {folder}")
            yield byte_count
        finally:
            process.kill()
            process.join()


def row(name: str, ticks: Ticks, note: str = "") -> Figure:
    sorted_us = sorted(cost_ns / 1e3 for cost_ns in ticks.cost_ns)
    return Figure(
        name,
        nearest_rank(sorted_us, 0.9999),
        "us",
        repeats=len(sorted_us),
        also={
            "p50 us": nearest_rank(sorted_us, 0.5),
            "p99 us": nearest_rank(sorted_us, 0.99),
            "p99.9 us": nearest_rank(sorted_us, 0.999),
            "max us": sorted_us[-1],
            "preempted": ticks.preempted,
        },
        note=note,
    )


def measure(slices: int, folder: Path) -> list[Figure]:
    with_sections, without = Ticks(), Ticks()
    with disk_writer(folder) as byte_count, recording():
        start_ns, start_bytes = perf_counter_ns(), byte_count.value
        for _ in range(slices):
            slice_with_sections(with_sections, SLICE_TICKS)
            slice_without(without, SLICE_TICKS)
        rate = (byte_count.value - start_bytes) / (perf_counter_ns() - start_ns) * 1e9 / (1 << 20)
    neighbour = f"the neighbour wrote {rate:.0f} MiB/s to disk"
    return [row("with a section", with_sections, neighbour), row("without", without)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--folder", type=Path, default=Path(), help="where the neighbour writes: on a disk")
    arguments = parser.parse_args()
    slices = QUICK_SLICES if arguments.quick else SLICES
    progress(f"two minutes at most: {2 * slices * SLICE_TICKS:,} ticks at 1 kHz")
    title = "A section in a loop at 1 kHz, its two clock reads included: 99.99th percentile"
    Report("spikes", title, measure(slices, arguments.folder)).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
