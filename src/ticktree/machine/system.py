"""The system's counters, read from /proc and /sys, no more of them than necessary.

The reader shares the cores with the measured program. So it reads a process only once to find out whether it belongs
to the run; and on a machine with many cores or in a run with many threads, it reads only some of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ticktree.machine import processor
from ticktree.machine.readings import NS, Core, Reading, ThreadTimes

# Enough for a share and a mean.
MAX_THREADS = 512
MAX_CORES = 16
_MAX_FILE_BYTES = 1 << 20


class _Process(NamedTuple):
    """Fields of a process's `stat` (man 5 proc)."""

    parent: int
    group: int
    faults: int
    ticks: int
    system_ticks: int
    started: int
    pages: int


class System:
    """Reads counters; it remembers the processes of the run: the supervisor's children, and their descendants."""

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
        self._run_starts: dict[int, int] = {}  # start of each of the run's processes, by its pid
        self._groups: set[int] = set()
        self._other_pids: set[int] = set()

    def read(self) -> Reading:
        """Read the counters now; only the time if there are none."""
        processes_by_pid = self._processes()
        processes = {(pid, process.started): process for pid, process in processes_by_pid.items()}
        used_ticks = sum(process.ticks for process in processes.values())
        return replace(
            self.read_at_end(used_ticks * self._tick_ns if processes else None),
            threads=dict(self._threads(processes_by_pid)),
            # A process that has ended has no pages left; they do not count as freed by the program.
            resident={
                key: process.pages * self._page_bytes for key, process in processes.items() if process.pages
            },
            faults={key: process.faults for key, process in processes.items()},
            system_ns={key: process.system_ticks * self._tick_ns for key, process in processes.items()},
            huge_pages=self._huge_pages(),
        )

    def read_at_end(self, used_ns: int | None) -> Reading:
        """Read the counters once the program has ended, and its processes are gone from /proc.

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
        """Return the run's processes: the supervisor's descendants and members of the program's group."""
        try:
            pids = {int(name) for name in os.listdir(self._proc) if name.isdigit()}  # noqa: PTH208 - faster
        except OSError:
            return {}
        self._other_pids &= pids
        processes = {}
        for pid in list(self._run_starts):
            process = self._process(pid)
            if process is not None and process.started == self._run_starts[pid]:
                processes[pid] = process
            else:
                del self._run_starts[pid]  # it has ended; another process may have its pid
        # In the order of their pids, parents mostly come before children; a second pass finds the others.
        for _ in range(2):
            for pid in sorted(pids - self._run_starts.keys() - self._other_pids):
                process = self._process(pid)
                if process is not None and self._is_of_run(pid, process):
                    self._run_starts[pid] = process.started
                    processes[pid] = process
        self._other_pids |= pids - self._run_starts.keys()
        return processes

    def _is_of_run(self, pid: int, process: _Process) -> bool:
        if process.parent == self._supervisor:
            self._groups.add(pid)  # the program leads its own group
            return True
        return process.parent in self._run_starts or process.group in self._groups

    def _process(self, pid: int) -> _Process | None:
        stat = _read(f"{self._proc}/{pid}/stat")
        # The second field is the program's name in parentheses; it may hold spaces and parentheses itself.
        fields = stat[stat.rfind(b")") + 2 :].split()
        try:
            parent, group, faults, system_ticks, start, pages = (
                int(fields[i]) for i in (1, 2, 7, 12, 19, 21)
            )
            # CPU time in user and system mode, its own and that of children it has waited for.
            ticks = sum(map(int, fields[11:15]))
            return _Process(parent, group, faults, ticks, system_ticks, start, pages)
        except (IndexError, ValueError):
            return None

    def _threads(self, processes: Mapping[int, _Process]) -> Iterator[tuple[tuple[int, int], ThreadTimes]]:
        limit = MAX_THREADS
        for pid in processes:
            try:
                names = os.listdir(f"{self._proc}/{pid}/task")  # noqa: PTH208 - faster
            except OSError:
                continue
            for name in names[:limit]:
                words = _read(f"{self._proc}/{pid}/task/{name}/schedstat").split()
                if len(words) >= 2 and words[0].isdigit() and words[1].isdigit():
                    yield (pid, int(name)), ThreadTimes(int(words[0]), int(words[1]))
            limit -= len(names[:limit])

    def _time_of_cores(self) -> dict[int, Core]:
        cores = {}
        for line in _read(f"{self._proc}/stat").splitlines():
            if not line.startswith(b"cpu"):
                break  # the cores come first, and the rest is long
            name, *words = line.split()
            if name[3:].isdigit() and int(name[3:]) in self._cores:
                core = _core([int(word) for word in words if word.isdigit()])
                if core is not None:
                    cores[int(name[3:])] = core
        return cores

    def _huge_pages(self) -> int | None:
        """Return how many huge pages the system gave to programs that touched fresh memory, since it started."""
        words = _read(f"{self._proc}/vmstat").partition(b"\nthp_fault_alloc ")[2].split(maxsplit=1)
        return int(words[0]) if words and words[0].isdigit() else None

    def _mhz(self) -> dict[int, float]:
        speeds = {}
        for core in self._cores[:MAX_CORES]:
            khz = _read(f"{self._sys}/cpu{core}/cpufreq/scaling_cur_freq").strip()
            if khz.isdigit():
                speeds[core] = int(khz) / 1000
        return speeds

    def _throttles(self) -> int | None:
        """Return how often single cores were throttled, plus how often all cores of a package were."""
        cores = self._throttle_counts("core")
        package = self._throttle_counts("package")  # each of its cores reports the same
        return sum(cores) + max(package, default=0) if cores or package else None

    def _throttle_counts(self, kind: str) -> list[int]:
        paths = (
            f"{self._sys}/cpu{core}/thermal_throttle/{kind}_throttle_count"
            for core in self._cores[:MAX_CORES]
        )
        return [int(text) for text in map(bytes.strip, map(_read, paths)) if text.isdigit()]


def _core(ticks: list[int]) -> Core | None:
    """Parse the ticks of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; then parts of these."""
    if len(ticks) < 4:
        return None
    idle = ticks[3] + (ticks[4] if len(ticks) > 4 else 0)
    return Core(total=sum(ticks[:8]), idle=idle, steal=ticks[7] if len(ticks) > 7 else None)


def _read(path: str) -> bytes:
    """Return the content of a small file; nothing if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _MAX_FILE_BYTES)
    except OSError:  # the process has ended meanwhile
        return b""
    finally:
        os.close(fd)
