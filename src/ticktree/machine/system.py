"""The system's counters, read from /proc and /sys, as little of them as will do.

The reader shares the cores with what is measured. So a process is read closely only once, to find out whether
it is the run's; and of a machine with many cores or a run with many threads, only some are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ticktree.machine import processor
from ticktree.machine.readings import NS, Core, Reading, Thread

# A share and a mean need no more.
MOST_THREADS = 512
MOST_CORES_READ = 16
_MOST_BYTES = 1 << 20


class _Process(NamedTuple):
    """What is read of a process: the fields of its `stat` (man 5 proc)."""

    parent: int
    group: int
    faults: int
    ticks: int
    system_ticks: int
    started: int
    pages: int


class System:
    """Reads counters; it remembers which processes are the run's: the supervisor's children, and theirs."""

    def __init__(
        self,
        proc: str = "/proc",
        sys: str = "/sys",
        supervisor: int | None = None,
        cores: set[int] | None = None,
        ticks_per_second: int | None = None,
    ) -> None:
        self._proc = proc
        self._sys = f"{sys}/devices/system/cpu"
        self._supervisor = os.getpid() if supervisor is None else supervisor
        self._cores = sorted(processor.cores_of_process() if cores is None else cores)
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._tick_ns = NS // (ticks_per_second or os.sysconf("SC_CLK_TCK"))
        self._ours: dict[int, int] = {}  # when each was started, by its number
        self._groups: set[int] = set()
        self._foreign: set[int] = set()

    def read(self) -> Reading:
        """What the counters say now; nothing but the time where there are none."""
        processes = self._processes()
        every = {(pid, process.started): process for pid, process in processes.items()}
        return Reading(
            at_ns=time.monotonic_ns(),
            used_ns=sum(process.ticks for process in every.values()) * self._tick_ns if every else None,
            self_ns=time.process_time_ns(),
            cores=self._time_of_cores(),
            threads=dict(self._threads(processes)),
            mhz=self._mhz(),
            # One that has ended has none left, and did not give it back as a program does.
            resident={key: one.pages * self._page_bytes for key, one in every.items() if one.pages},
            faults={key: one.faults for key, one in every.items()},
            system_ns={key: one.system_ticks * self._tick_ns for key, one in every.items()},
            huge_pages=self._huge_pages(),
            throttles=self._throttles(),
        )

    def read_at_end(self, used_ns: int) -> Reading:
        """What the counters say once the program has ended, and with it its part of /proc.

        `used_ns` is the CPU time of the program and of all of its children that were waited for.
        """
        return Reading(
            at_ns=time.monotonic_ns(),
            used_ns=used_ns,
            self_ns=time.process_time_ns(),
            cores=self._time_of_cores(),
            mhz=self._mhz(),
            throttles=self._throttles(),
        )

    def _processes(self) -> dict[int, _Process]:
        """The run's processes: its supervisor's descendants and members of the program's group."""
        try:
            every = {int(name) for name in os.listdir(self._proc) if name.isdigit()}  # noqa: PTH208 - faster
        except OSError:
            return {}
        self._foreign &= every
        found = {}
        for pid in list(self._ours):
            process = self._process(pid)
            if process is not None and process.started == self._ours[pid]:
                found[pid] = process
            else:
                del self._ours[pid]  # it has ended; another may have its number
        # In the order of their numbers parents mostly come first; once more for those that do not.
        for _ in range(2):
            for pid in sorted(every - self._ours.keys() - self._foreign):
                process = self._process(pid)
                if process is not None and self._is_ours(pid, process):
                    self._ours[pid] = process.started
                    found[pid] = process
        self._foreign |= every - self._ours.keys()
        return found

    def _is_ours(self, pid: int, process: _Process) -> bool:
        if process.parent == self._supervisor:
            self._groups.add(pid)  # the program leads its own group
            return True
        return process.parent in self._ours or process.group in self._groups

    def _process(self, pid: int) -> _Process | None:
        stat = _read(f"{self._proc}/{pid}/stat")
        # The second field is the program's name in parentheses; it may hold spaces and parentheses itself.
        fields = stat[stat.rfind(b")") + 2 :].split()
        try:
            # CPU time in user and system mode, its own and that of children it has waited for.
            return _Process(
                int(fields[1]),
                int(fields[2]),
                int(fields[7]),
                sum(map(int, fields[11:15])),
                int(fields[12]),
                int(fields[19]),
                int(fields[21]),
            )
        except (IndexError, ValueError):
            return None

    def _threads(self, processes: Mapping[int, _Process]) -> Iterator[tuple[tuple[int, int], Thread]]:
        left = MOST_THREADS
        for pid in processes:
            try:
                names = os.listdir(f"{self._proc}/{pid}/task")  # noqa: PTH208 - faster
            except OSError:
                continue
            for name in names[:left]:
                words = _read(f"{self._proc}/{pid}/task/{name}/schedstat").split()
                if len(words) >= 2 and words[0].isdigit() and words[1].isdigit():
                    yield (pid, int(name)), Thread(int(words[0]), int(words[1]))
            left -= len(names[:left])

    def _time_of_cores(self) -> dict[int, Core]:
        cores = {}
        for line in _read(f"{self._proc}/stat").splitlines():
            if not line.startswith(b"cpu"):
                break  # the cores come first, and what follows is long
            name, *words = line.split()
            if name[3:].isdigit() and int(name[3:]) in self._cores:
                core = _core([int(word) for word in words if word.isdigit()])
                if core is not None:
                    cores[int(name[3:])] = core
        return cores

    def _huge_pages(self) -> int | None:
        """How many huge pages the system gave to programs that touched fresh memory, since the machine was started."""
        _, found, rest = _read(f"{self._proc}/vmstat").partition(b"\nthp_fault_alloc ")
        number = rest.split(maxsplit=1)[:1]
        return int(number[0]) if found and number and number[0].isdigit() else None

    def _mhz(self) -> dict[int, float]:
        speeds = {}
        for core in self._cores[:MOST_CORES_READ]:
            khz = _read(f"{self._sys}/cpu{core}/cpufreq/scaling_cur_freq").strip()
            if khz.isdigit():
                speeds[core] = int(khz) / 1000
        return speeds

    def _throttles(self) -> int | None:
        """How often the cores were slowed down each for itself, and how often all of a package were."""
        single = self._throttle_counts("core")
        package = self._throttle_counts("package")  # each of its cores says the same
        return sum(single) + max(package, default=0) if single or package else None

    def _throttle_counts(self, kind: str) -> list[int]:
        paths = (
            f"{self._sys}/cpu{core}/thermal_throttle/{kind}_throttle_count"
            for core in self._cores[:MOST_CORES_READ]
        )
        return [int(text) for text in map(bytes.strip, map(_read, paths)) if text.isdigit()]


def _core(ticks: list[int]) -> Core | None:
    """What a line of /proc/stat says: user, nice, system, idle, iowait, irq, softirq, steal; then parts of these."""
    if len(ticks) < 4:
        return None
    idle = ticks[3] + (ticks[4] if len(ticks) > 4 else 0)
    return Core(total=sum(ticks[:8]), idle=idle, steal=ticks[7] if len(ticks) > 7 else None)


def _read(path: str) -> bytes:
    """A small file's contents; nothing, where there is none or it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _MOST_BYTES)
    except OSError:  # the process has ended meanwhile
        return b""
    finally:
        os.close(fd)
