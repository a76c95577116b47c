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
class Unit:
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
        """Return `path`; "" if the unit is outside its own sections there."""
        return "" if path == self.parent else path

    def calls(self, node: Node) -> int:
        """Return how many calls of `node` the unit has completed."""
        return sum(share.count for share in self._shares(node))

    def total_ns(self, node: Node) -> int:
        """Return the unit's time in `node`."""
        return sum(share.total_ns for share in self._shares(node))

    def _shares(self, node: Node) -> list[Share]:
        return [node.by_thread[thread] for thread in self.threads if thread in node.by_thread]

    @property
    def span_ns(self) -> int | None:
        """Time from the first to the last sign of life; None if unknown, or if the unit represents several workers."""
        if self.started_ns is None or self.last_ns is None or self.members > 1:
            return None
        return self.last_ns - self.started_ns


@dataclass(frozen=True, slots=True)
class Role:
    """Processes or threads with the same task.

    Attributes:
        name: the role's name.
        units: the workers in the order of their start.
    """

    name: str
    units: tuple[Unit, ...]

    @property
    def count(self) -> int:
        """Number of workers, summed ones counted individually."""
        return sum(unit.members for unit in self.units)

    @property
    def threads(self) -> tuple[str, ...]:
        """The ids of all threads."""
        return tuple(thread for unit in self.units for thread in unit.threads)

    @property
    def equals(self) -> tuple[Unit, ...]:
        """The units that represent one worker each, which can be compared."""
        return tuple(unit for unit in self.units if unit.members == 1)


def roles(profile: Profile, by: By) -> list[Role]:
    """Return the processes or threads of a run by role, in the order in which the roles started.

    By "role", each role has one unit: all of its threads.
    """
    groups: dict[str, list[Unit]] = {}
    for unit in sorted(_unnumbered_units(profile, by), key=_age_key):
        groups.setdefault(unit.role, []).append(unit)
    if by == "role":
        return [Role(name, (_merge_units(name, units),)) for name, units in groups.items()]
    numbered = {name: _number_units(sorted(units, key=_number_key)) for name, units in groups.items()}
    if len({unit.host for units in groups.values() for unit in units}) > 1:
        for units in numbered.values():
            units[:] = [
                replace(worker, name=f"{worker.name} on {worker.host}") if worker.host else worker
                for worker in units
            ]
    return [Role(name, tuple(units)) for name, units in numbered.items()]


def unit_of(all_roles: Iterable[Role]) -> dict[str, Unit]:
    """Return the unit of each thread, by the thread's id."""
    return {thread: unit for role in all_roles for unit in role.units for thread in unit.threads}


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


def amount(by_thread: Mapping[str, int], unit: Unit) -> int:
    """Return a unit's part of an amount given by thread."""
    return sum(by_thread.get(thread, 0) for thread in unit.threads)


def _unnumbered_units(profile: Profile, by: By) -> list[Unit]:
    """Return every process, or every thread, named by its role alone."""
    groups: dict[tuple[str, str], list[Thread]] = {}
    for thread in profile.threads.values():
        key = (thread.run, thread.process if by == "process" else _thread_key(thread))
        groups.setdefault(key, []).append(thread)
    return [_unit(run, threads, by) for (run, _), threads in groups.items()]


def _thread_key(thread: Thread) -> str:
    """Return what an executor's thread has in common: it has an entry for each node that submitted work to it."""
    name = thread.thread_name
    return "/".join((thread.process, thread.role, name)) if name and not thread.is_main else thread.id


def _unit(run: str, threads: list[Thread], by: By) -> Unit:
    """Return some threads as one unit; the role of a process is that of its main thread."""
    main = min(threads, key=lambda thread: (not thread.is_main, thread.started_ns or 0, thread.id))
    is_process = by == "process" or main.is_main  # the name of a main thread is not informative
    role = main.role or main.process_name or NAMELESS
    started = [thread.started_ns for thread in threads if thread.started_ns is not None]
    last = [thread.last_ns for thread in threads if thread.last_ns is not None]
    return Unit(
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


def _age_key(unit: Unit) -> tuple[object, ...]:
    """Return the sort key of units: their start, then the numbers in their ids, which increase."""
    started_ns = unit.started_ns
    ids = [int(number) for number in re.findall("[0-9]{1,18}", unit.threads[0])]
    return (unit.run, started_ns is None, started_ns or 0, ids, unit.threads)


def _number_key(unit: Unit) -> tuple[object, ...]:
    """Return the sort key of units of one role: the numbers that the program gave them, then their start.

    Processes that the program starts together appear in any order.
    """
    number = _own_number(unit)
    return (unit.run, number is None, number or 0, _age_key(unit))


def _own_number(unit: Unit) -> int | None:
    """Return the number at the end of the program's name for a unit; None if there is none."""
    match = _NUMBER.search(unit.own_name)
    return int(match[1]) if match else None


def _number_units(units: list[Unit]) -> list[Unit]:
    """Return `units` with numbers: the program's if all have one, else a count; a unit of several has a range."""
    if len(units) == 1:
        return units
    own_numbers = {_own_number(unit) for unit in units if _NUMBER.sub("", unit.own_name) == unit.role}
    if len(own_numbers) == len(units) and max(unit.members for unit in units) == 1:
        return [replace(unit, name=f"{unit.role} {_own_number(unit)}") for unit in units]
    results, number = [], 0
    for unit in units:
        last = number + unit.members - 1
        name = f"{unit.role} {number}" if last == number else f"{unit.role} {number}-{last}"
        results.append(replace(unit, name=name))
        number = last + 1
    return results


def _merge_units(name: str, units: list[Unit]) -> Unit:
    runs = {unit.run for unit in units}
    return Unit(
        name=name,
        role=name,
        run=runs.pop() if len(runs) == 1 else "",
        threads=tuple(thread for unit in units for thread in unit.threads),
        members=sum(unit.members for unit in units),
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median and maximum over the units with any amount.

    Attributes:
        units: number of units with any amount.
        min_ns: the minimum.
        median_ns: the median.
        max_ns: the maximum.
        slowest: the unit with the maximum.
    """

    units: int
    min_ns: int
    median_ns: int
    max_ns: int
    slowest: Unit


def amounts(by_thread: Mapping[str, int], units: Sequence[Unit]) -> dict[Unit, int]:
    """Return each unit's part of an amount given by thread, in the order of units, without units that have none."""
    units_with_amount = (unit for unit in units if not by_thread.keys().isdisjoint(unit.threads))
    return {unit: amount(by_thread, unit) for unit in units_with_amount}


def spread(by_unit: Mapping[Unit, int]) -> Spread | None:
    """Return the spread of the amounts; None if there are none.

    If several units have the maximum, the one that started first is the slowest.
    """
    if not by_unit:
        return None
    slowest = max(by_unit, key=lambda unit: by_unit[unit])
    amounts_ns = by_unit.values()
    return Spread(len(by_unit), min(amounts_ns), round(median(amounts_ns)), by_unit[slowest], slowest)
