"""Readings: the system's counters at one moment.

All counters only grow. Counters that the system does not report are absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticktree.profile import Gauge
from ticktree.profile.gauge import GaugeWindows
from ticktree.profile.machine import (
    FAULTS,
    FREQUENCY,
    GROWTH,
    HUGE_PAGES,
    OTHER_CORES,
    RESIDENT,
    STEAL,
    SYSTEM,
    THROTTLED,
    USED_CORES,
    WAITING,
)

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Core:
    """A core's time since the machine started, in the system's clock ticks.

    Attributes:
        idle: time without work, or waiting for a disk.
        steal: time that the hypervisor gave to other guests; None if that is not reported.
    """

    total: int
    idle: int
    steal: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """How long a thread ran on a core, and how long it was ready to run and had none."""

    ran_ns: int
    waited_ns: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment.

    Attributes:
        used_ns: CPU time of the run's processes so far, also of those that have ended; None if not reported.
        self_ns: CPU time of the reading process, which is neither the run's nor other programs'.
        cores: the cores that the run may use, by number.
        resident: resident bytes of each of the run's processes, by its pid and start.
        faults: how often each of them has touched memory for the first time: minor page faults.
        system_ns: CPU time of each of them in the kernel.
        huge_pages: how many huge pages the system gave to any program; None if not reported.
        throttles: how often cores were throttled because of heat; None if not reported.
    """

    at_ns: int
    used_ns: int | None = None
    self_ns: int = 0
    cores: Mapping[int, Core] = field(default_factory=dict)
    threads: Mapping[tuple[int, int], ThreadTimes] = field(default_factory=dict)
    mhz: Mapping[int, float] = field(default_factory=dict)
    resident: Mapping[tuple[int, int], int] = field(default_factory=dict)
    faults: Mapping[tuple[int, int], int] = field(default_factory=dict)
    system_ns: Mapping[tuple[int, int], int] = field(default_factory=dict)
    huge_pages: int | None = None
    throttles: int | None = None


# The system counts the cores' time in steps of 10 ms: over less time their share is unknown.
MIN_ELAPSED_S = 0.2
# An idle core runs slowly because it is not needed, which says nothing about the machine.
BUSY_SHARE = 0.5
# With less, the share of waiting is random.
MIN_RUNNABLE_NS = 1_000_000


def between(before: Reading, after: Reading) -> dict[str, float]:
    """Return the values for the time between two readings by gauge name, without unknown ones."""
    elapsed_ns = after.at_ns - before.at_ns
    if elapsed_ns <= 0:
        return {}
    values = {
        USED_CORES: _used(before, after, elapsed_ns),
        WAITING: _waiting(before, after),
        THROTTLED: _per_second(before.throttles, after.throttles, elapsed_ns),
        HUGE_PAGES: _per_second(before.huge_pages, after.huge_pages, elapsed_ns),
    }
    if elapsed_ns >= MIN_ELAPSED_S * NS:
        busy = _busy(before, after)
        values[OTHER_CORES] = _others(values[USED_CORES], busy, (after.self_ns - before.self_ns) / elapsed_ns)
        values[STEAL] = _steal(before, after)
        values[FREQUENCY] = _frequency(busy, after.mhz)
        values[RESIDENT] = sum(after.resident.values()) if after.resident else None
        # A process that started meanwhile does not count.
        values[GROWTH] = _change(before.resident, after.resident, elapsed_ns)
        values[FAULTS] = _change(before.faults, after.faults, elapsed_ns)
        system_ns = _change(before.system_ns, after.system_ns, elapsed_ns)
        values[SYSTEM] = None if system_ns is None else system_ns / NS
    return {name: value for name, value in values.items() if value is not None}


def _used(before: Reading, after: Reading, elapsed_ns: int) -> float | None:
    if before.used_ns is None or after.used_ns is None or after.used_ns < before.used_ns:
        return None  # less than before: a process ended that no parent waited for, and its times are lost
    return (after.used_ns - before.used_ns) / elapsed_ns


def _busy(before: Reading, after: Reading) -> dict[int, float]:
    """Return the busy share of each core."""
    shares = {}
    for number, core in after.cores.items():
        earlier = before.cores.get(number)
        if earlier is not None and core.total > earlier.total:
            total = core.total - earlier.total
            # The idle counter may decrease a little (man 5 proc).
            idle = max(0, core.idle - earlier.idle)
            stolen = max(0, (core.steal or 0) - (earlier.steal or 0))
            shares[number] = max(0.0, 1 - (idle + stolen) / total)
    return shares


def _others(used: float | None, busy: Mapping[int, float], supervisor: float) -> float | None:
    return max(0.0, sum(busy.values()) - used - supervisor) if busy and used is not None else None


def _steal(before: Reading, after: Reading) -> float | None:
    total = stolen = 0
    for number, core in after.cores.items():
        earlier = before.cores.get(number)
        if earlier is not None and core.steal is not None and earlier.steal is not None:
            total += core.total - earlier.total
            stolen += core.steal - earlier.steal
    return min(1.0, max(0, stolen) / total) if total > 0 else None


def _waiting(before: Reading, after: Reading) -> float | None:
    ran_ns = waited_ns = 0
    for key, thread in after.threads.items():
        earlier = before.threads.get(key, ThreadTimes(0, 0))  # a new thread counts from its start
        ran_ns += max(0, thread.ran_ns - earlier.ran_ns)
        waited_ns += max(0, thread.waited_ns - earlier.waited_ns)
    return waited_ns / (ran_ns + waited_ns) if ran_ns and ran_ns + waited_ns >= MIN_RUNNABLE_NS else None


def _frequency(busy: Mapping[int, float], mhz: Mapping[int, float]) -> float | None:
    speeds = [speed for core, speed in mhz.items() if busy.get(core, 0.0) >= BUSY_SHARE]
    return sum(speeds) / len(speeds) if speeds else None


def _per_second(before: int | None, after: int | None, elapsed_ns: int) -> float | None:
    return None if before is None or after is None or after < before else (after - before) * NS / elapsed_ns


def _change(
    before: Mapping[tuple[int, int], int], after: Mapping[tuple[int, int], int], elapsed_ns: int
) -> float | None:
    """Return a counter's change per second, for the processes in both readings."""
    both = after.keys() & before.keys()
    return sum(after[process] - before[process] for process in both) * NS / elapsed_ns if both else None


def gauge_of(name: str, value: float, since_ns: int, wall_ns: int, process: str) -> Gauge:
    """Return the gauge of a single reading.

    Args:
        name: the gauge's name.
        value: the reading.
        since_ns: its time since the run began.
        wall_ns: its time since the epoch.
        process: id of the process that took it.
    """
    windows = GaugeWindows.of([(since_ns, value)])
    return Gauge.of(name, [value], last=value, last_wall_ns=wall_ns, process=process, windows=windows)
