"""Idle: who waited where, and who let them go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.loops import SectionView
from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import UNKNOWN, Role, Unit
from ticktree.profile import Wakes


@dataclass(frozen=True, slots=True)
class Cause:
    """Who ended waits, and from where.

    Attributes:
        role: of who did; `UNKNOWN` where nothing is known of them.
        path: of the section of theirs that was open; "" where none was.
        channels: through what, in alphabetical order.
        wakes: how many waits they ended, and how long those were.
        by: of `wakes`, the waited nanoseconds that each ended, who ended most first.
    """

    role: str
    path: str
    channels: tuple[str, ...]
    wakes: Wakes
    by: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A node in which those of a role waited.

    Attributes:
        role: whose.
        path: of the node.
        each: who waited there and for how many nanoseconds, the longest first.
        calls: how often, all of them together.
        of_ns: how long they were in sections at all.
        causes: who let them go on, the most important first; empty where that was not recorded.
    """

    role: Role
    path: str
    each: tuple[tuple[Unit, int], ...]
    calls: int
    of_ns: int
    causes: tuple[Cause, ...]

    @property
    def count(self) -> int:
        """How many waited there."""
        return sum(unit.members for unit, _ in self.each)

    @property
    def waited_ns(self) -> int:
        """How long all of them waited."""
        return sum(ns for _, ns in self.each)

    @property
    def share(self) -> float | None:
        """What part of their time they waited here."""
        return self.waited_ns / self.of_ns if self.of_ns > 0 else None

    @property
    def known_ns(self) -> int:
        """How much of `waited_ns` it is known of who ended it."""
        return sum(cause.wakes.waited_ns for cause in self.causes)


def waitings(seen: Survey) -> list[Waiting]:
    """Return every wait of every role, the one that took the largest part of its role's time first."""
    waits = [waiting for role in seen.threads for waiting in waitings_of(role, seen)]
    return sorted(waits, key=lambda one: (-(one.share or 0.0), one.role.name, one.path))


def waitings_of(role: Role, seen: Survey) -> list[Waiting]:
    """Return every wait of `role`, which may be a part of one, the longest first; waits within waits are in it."""
    sections = (section for section in seen.run.sections if section.node.wait and not section.is_in_wait)
    waits = [_waiting(section, role, seen) for section in sections]
    return sorted((one for one in waits if one.waited_ns), key=lambda one: (-one.waited_ns, one.path))


def _waiting(section: SectionView, role: Role, seen: Survey) -> Waiting:
    waited = {unit: ns for unit in role.units if (ns := unit.total_ns(section.node)) > 0}
    return Waiting(
        role=role,
        path=section.path,
        each=tuple(sorted(waited.items(), key=lambda item: (-item[1], item[0].name))),
        calls=sum(unit.calls(section.node) for unit in waited),
        of_ns=sum(map(seen.present_ns, waited)),
        causes=_causes(section, role, seen.names) if waited else (),
    )


def _causes(section: SectionView, role: Role, names: Mapping[str, Unit]) -> tuple[Cause, ...]:
    """Return who ended the waits of `role` at `section` and below it, by role and the node that was open there."""
    waiters = set(role.writers)
    together: dict[tuple[str, str], list[tuple[str, str, Wakes]]] = {}
    for waker, wakes in section.wakers():
        if waker.writer in waiters:
            unit = names.get(waker.by)
            key = (unit.role, unit.section(waker.path)) if unit else (UNKNOWN, waker.path)
            together.setdefault(key, []).append((unit.name if unit else UNKNOWN, waker.channel, wakes))
    causes = [_cause(by, path, each) for (by, path), each in together.items()]
    return tuple(sorted(causes, key=lambda one: (-one.wakes.waited_ns, one.role, one.path)))


def _cause(role: str, path: str, each: Sequence[tuple[str, str, Wakes]]) -> Cause:
    wakes = Wakes(0, 0, 0)
    by: dict[str, int] = {}
    for name, _, part in each:
        wakes += part
        by[name] = by.get(name, 0) + part.waited_ns
    channels = sorted({channel for _, channel, _ in each})
    ranked = sorted(by.items(), key=lambda item: (-item[1], item[0]))
    return Cause(role, path, tuple(channels), wakes, tuple(ranked))
