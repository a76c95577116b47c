"""The owner of a run: one process, distinguished from every other that ever had its pid.

A pid alone is reused, often within minutes; with its start time it is unique until the machine restarts, and with
the boot id for good. The pid namespace belongs to them because containers may share a tmpfs and not their pids: a
process that is not visible from here must not count as ended, or one container would finish the running program of
another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """One process of one boot of one machine.

    Attributes:
        pid: Its pid, in its pid namespace.
        started: When it started: clock ticks since boot, or wall-clock microseconds without /proc.
        boot_id: A random id of the machine's boot, new at every start of the kernel; empty without /proc.
        namespace: The inode of its pid namespace, 0 if there is none.
    """

    pid: int
    started: int
    boot_id: str
    namespace: int

    @classmethod
    def current(cls) -> Owner:
        """Return the calling process."""
        pid = os.getpid()
        return cls(pid, process_start(pid) or 0, boot_id(), pid_namespace())

    def with_process(self, pid: int, started: int) -> Owner:
        """Return another process of the same machine and boot."""
        return self._replace(pid=pid, started=started)

    def is_alive(self) -> bool:
        """Return whether the process still runs; true if it is not visible from here."""
        if self.boot_id != boot_id():
            return False
        if self.namespace != pid_namespace():
            return True
        return process_start(self.pid) == self.started


def ended_processes(owner: Owner, processes: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the processes, as pid and start, that have visibly ended; they are of `owner`'s boot and namespace."""
    if owner.boot_id != boot_id():
        return set(processes)
    if owner.namespace != pid_namespace():
        return set()
    return {(pid, started) for pid, started in processes if process_start(pid) != started}


def process_start(pid: int) -> int | None:
    """Return when a process started, in the unit of `Owner.started`; None if no such process runs."""
    if not Path("/proc/self/stat").exists():
        return _start_without_proc(pid)
    fields = stat_fields(pid)
    if not fields:
        return None
    state, threads, start = fields[0], int(fields[17]), int(fields[19])
    # A zombie has ended even if its parent does not collect it, unless only its first thread has ended and others
    # continue.
    return None if state in b"ZX" and threads <= 1 else start


def parent_pid(pid: int) -> int:
    """Return the pid of a process's parent; 0 if no such process runs, or without /proc."""
    fields = stat_fields(pid)
    return int(fields[1]) if fields else 0


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of a process's `stat` (man 5 proc) from its state on; none if no such process runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    # The second field is the program's name in parentheses; it may hold spaces and parentheses itself.
    return stat[stat.rindex(b")") + 2 :].split()


def _start_without_proc(pid: int) -> int | None:
    # Imported only without /proc: a profiled program would pay for the import.
    import psutil  # type: ignore[import-untyped, unused-ignore]

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return int(process.create_time() * 1e6)
    except psutil.Error:
        return None


def boot_id() -> str:
    """Return the id of this boot of the machine; empty without /proc, where start times are wall-clock times."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def uptime_s() -> float:
    """Return for how many seconds the machine has been running: no user can set that clock."""
    try:
        return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return time.monotonic()


def pid_namespace() -> int:
    """Return the inode of this process's pid namespace, 0 if there is none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
