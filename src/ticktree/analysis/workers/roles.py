"""Roles: the processes and threads of a run, named by their task, and their shares of a node."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median
from typing import Literal, TypeAlias

from ticktree.profile import Node, Profile, Share, Thread

By: TypeAlias = Literal["process", "thread", "role"]

NAMELESS = "process"
# Processes that are not in the profile: their file was missing or unreadable.
UNKNOWN = "a process that was not read"

_NUMBER = re.compile("[ _:#-]*([0-9]{1,18})$")


@dataclass(frozen=True, slots=True)
class Worker:
    """A process, a thread, or a whole role as one.

    Attributes:
        name: its role as the program named it, numbered if there are several: `actor 3`.
        own_name: the program's name for the process or thread; "" for several.
        role: the name of its role.
        run: the run that it belongs to; "" for several runs.
        threads: ids of its threads.
        parent: path of the node in which it was started, where it is while outside its sections.
        started_ns: its first sign of life, since the run began; None if unknown.
        last_ns: its last sign of life; None if unknown.
        members: number of workers that it represents: more than one if short-lived ones were summed.
        host: the machine it ran on; "" if the run has only one, or for several.
    """

    name: str
    role: str
    run: str
    threads: tuple[str, ...]
    own_name: str = ""
    parent: str = ""
    started_ns: int | None = None
    last_ns: int | None = None
    members: int = 1
    host: str = ""

    def section(self, path: str) -> str:
        """Return `path`; "" if the worker is outside its own sections there."""
        return "" if path == self.parent else path

    def calls(self, node: Node) -> int:
        """Return how many calls of `node` the worker has completed."""
        return sum(share.count for share in self._shares(node))

    def total_ns(self, node: Node) -> int:
        """Return the worker's time in `node`."""
        return sum(share.total_ns for share in self._shares(node))

    def _shares(self, node: Node) -> list[Share]:
        return [node.by_thread[thread] for thread in self.threads if thread in node.by_thread]

    @property
    def span_ns(self) -> int | None:
        """Time from the first to the last sign of life; None if unknown, or if it represents several workers."""
        if self.started_ns is None or self.last_ns is None or self.members > 1:
            return None
        return self.last_ns - self.started_ns


@dataclass(frozen=True, slots=True)
class Role:
    """Processes or threads with the same task.

    Attributes:
        name: the role's name.
        workers: the workers in the order of their start.
    """

    name: str
    workers: tuple[Worker, ...]

    @property
    def count(self) -> int:
        """Number of workers, summed ones counted individually."""
        return sum(worker.members for worker in self.workers)

    @property
    def threads(self) -> tuple[str, ...]:
        """The ids of all threads."""
        return tuple(thread for worker in self.workers for thread in worker.threads)

    @property
    def equals(self) -> tuple[Worker, ...]:
        """The workers that represent one worker each, which can be compared."""
        return tuple(worker for worker in self.workers if worker.members == 1)


def roles(profile: Profile, by: By) -> list[Role]:
    """Return the processes or threads of a run by role, in the order in which the roles started.

    By "role", each role has one worker: all of its threads.
    """
    groups: dict[str, list[Worker]] = {}
    for worker in sorted(_unnumbered_workers(profile, by), key=_age_key):
        groups.setdefault(worker.role, []).append(worker)
    if by == "role":
        return [Role(name, (_merge_workers(name, workers),)) for name, workers in groups.items()]
    numbered = {name: _number_workers(sorted(workers, key=_number_key)) for name, workers in groups.items()}
    if len({worker.host for workers in groups.values() for worker in workers}) > 1:
        for workers in numbered.values():
            workers[:] = [
                replace(worker, name=f"{worker.name} on {worker.host}") if worker.host else worker
                for worker in workers
            ]
    return [Role(name, tuple(workers)) for name, workers in numbered.items()]


def worker_by_thread(all_roles: Iterable[Role]) -> dict[str, Worker]:
    """Return the worker of each thread, by the thread's id."""
    return {thread: worker for role in all_roles for worker in role.workers for thread in worker.threads}


def most_processes(profile: Profile) -> int:
    """Return the maximum number of processes at one moment; those with unknown lifetimes count throughout."""
    lifetimes: dict[tuple[str, str], tuple[float, float]] = {}
    for thread in profile.threads.values():
        first = -math.inf if thread.started_ns is None else thread.started_ns
        last = math.inf if thread.last_ns is None else thread.last_ns
        lifetime = lifetimes.get((thread.run, thread.process), (first, last))
        lifetimes[thread.run, thread.process] = (min(first, lifetime[0]), max(last, lifetime[1]))
    moments = sorted(
        [(first, 1) for first, _ in lifetimes.values()] + [(last, -1) for _, last in lifetimes.values()]
    )
    return max(accumulate(change for _, change in moments), default=0)


def has_processes(profile: Profile) -> bool:
    """Return whether any run in the profile had more than one process."""
    processes: dict[str, set[str]] = {}
    for thread in profile.threads.values():
        processes.setdefault(thread.run, set()).add(thread.process)
    return any(len(ids) > 1 for ids in processes.values())


def run_ns(profile: Profile) -> int:
    """Return the length of the run, or the sum over all runs in the profile; 0 if unknown."""
    spans: dict[str, tuple[int, int]] = {}
    for thread in profile.threads.values():
        if thread.started_ns is not None and thread.last_ns is not None:
            first, last = spans.get(thread.run, (thread.started_ns, thread.last_ns))
            spans[thread.run] = (min(first, thread.started_ns), max(last, thread.last_ns))
    return sum(last - first for first, last in spans.values()) or profile.root.total_ns


def amount(by_thread: Mapping[str, int], worker: Worker) -> int:
    """Return a worker's part of an amount given by thread."""
    return sum(by_thread.get(thread, 0) for thread in worker.threads)


def _unnumbered_workers(profile: Profile, by: By) -> list[Worker]:
    """Return every process, or every thread, named by its role alone."""
    groups: dict[tuple[str, str], list[Thread]] = {}
    for thread in profile.threads.values():
        key = (thread.run, thread.process if by == "process" else _thread_key(thread))
        groups.setdefault(key, []).append(thread)
    return [_worker(run, threads, by) for (run, _), threads in groups.items()]


def _thread_key(thread: Thread) -> str:
    """Return the key of a thread's entries: an executor's thread has one per node that submitted work to it."""
    name = thread.thread_name
    return "/".join((thread.process, thread.role, name)) if name and not thread.is_main else thread.id


def _worker(run: str, threads: list[Thread], by: By) -> Worker:
    """Return some threads as one worker; the role of a process is that of its main thread."""
    main = min(threads, key=lambda thread: (not thread.is_main, thread.started_ns or 0, thread.id))
    is_process = by == "process" or main.is_main  # the name of a main thread is not informative
    role = main.role or main.process_name or NAMELESS
    started = [thread.started_ns for thread in threads if thread.started_ns is not None]
    last = [thread.last_ns for thread in threads if thread.last_ns is not None]
    return Worker(
        name=role,
        role=role,
        run=run,
        threads=tuple(sorted(thread.id for thread in threads)),
        own_name=main.process_name if is_process else main.thread_name,
        parent=main.parent,
        started_ns=min(started, default=None),
        last_ns=max(last, default=None),
        members=max(thread.members for thread in threads),
        host=main.host,
    )


def _age_key(worker: Worker) -> tuple[object, ...]:
    """Return the sort key of workers: their start, then the numbers in their ids, which increase."""
    started_ns = worker.started_ns
    ids = [int(number) for number in re.findall("[0-9]{1,18}", worker.threads[0])]
    return (worker.run, started_ns is None, started_ns or 0, ids, worker.threads)


def _number_key(worker: Worker) -> tuple[object, ...]:
    """Return the sort key of workers of one role: the numbers that the program gave them, then their start.

    Processes that the program starts together appear in any order.
    """
    number = _own_number(worker)
    return (worker.run, number is None, number or 0, _age_key(worker))


def _own_number(worker: Worker) -> int | None:
    """Return the number at the end of the program's name for a worker; None if there is none."""
    match = _NUMBER.search(worker.own_name)
    return int(match[1]) if match else None


def _number_workers(workers: list[Worker]) -> list[Worker]:
    """Return `workers` with numbers: the program's if all have one, else a count; a worker of several has a range."""
    if len(workers) == 1:
        return workers
    own_numbers = {
        _own_number(worker) for worker in workers if _NUMBER.sub("", worker.own_name) == worker.role
    }
    if len(own_numbers) == len(workers) and max(worker.members for worker in workers) == 1:
        return [replace(worker, name=f"{worker.role} {_own_number(worker)}") for worker in workers]
    results, number = [], 0
    for worker in workers:
        last = number + worker.members - 1
        name = f"{worker.role} {number}" if last == number else f"{worker.role} {number}-{last}"
        results.append(replace(worker, name=name))
        number = last + 1
    return results


def _merge_workers(name: str, workers: list[Worker]) -> Worker:
    runs = {worker.run for worker in workers}
    return Worker(
        name=name,
        role=name,
        run=runs.pop() if len(runs) == 1 else "",
        threads=tuple(thread for worker in workers for thread in worker.threads),
        members=sum(worker.members for worker in workers),
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median and maximum over the workers with any amount.

    Attributes:
        workers: number of workers with any amount.
        min_ns: the minimum.
        median_ns: the median.
        max_ns: the maximum.
        slowest: the worker with the maximum.
    """

    workers: int
    min_ns: int
    median_ns: int
    max_ns: int
    slowest: Worker


def amounts(by_thread: Mapping[str, int], workers: Sequence[Worker]) -> dict[Worker, int]:
    """Return each worker's part of an amount given by thread, in their order, without workers that have none."""
    workers_with_amount = (worker for worker in workers if not by_thread.keys().isdisjoint(worker.threads))
    return {worker: amount(by_thread, worker) for worker in workers_with_amount}


def spread(by_worker: Mapping[Worker, int]) -> Spread | None:
    """Return the spread of the amounts; None if there are none.

    If several workers have the maximum, the one that started first is the slowest.
    """
    if not by_worker:
        return None
    slowest = max(by_worker, key=lambda worker: by_worker[worker])
    amounts_ns = by_worker.values()
    return Spread(len(by_worker), min(amounts_ns), round(median(amounts_ns)), by_worker[slowest], slowest)
