"""Waits: which roles waited where, what woke them, how much of it is for a straggler, and the critical path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.context import Context
from ticktree.analysis.loops import SectionView
from ticktree.analysis.workers.roles import UNKNOWN, Role, Unit, roles, unit_of
from ticktree.analysis.workers.stragglers import IN_STEP_SHARE, LEAST_CALLS, Straggler
from ticktree.profile import Profile, Waker, Wakes

# Threads of libraries that only pass on the work of others, and whose work it was.
RELAYS = {"_handle_results": "pool worker"}


@dataclass(frozen=True, slots=True)
class Cause:
    """What ended waits, and in which section.

    Attributes:
        role: of the workers that ended them; `UNKNOWN` if unknown.
        path: of their section that was open; "" if there was none.
        channels: the channels used, in alphabetical order.
        wakes: number and duration of the waits that they ended.
        by: the waited nanoseconds of `wakes` that each worker ended, the largest first.
    """

    role: str
    path: str
    channels: tuple[str, ...]
    wakes: Wakes
    by: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A node in which workers of a role waited.

    Attributes:
        role: the role.
        path: of the node.
        each: the workers that waited there and for how many nanoseconds, the longest first.
        calls: number of waits of all of them together.
        of_ns: their time in any section; for workers whose only sections are waits, their lifetime; 0 if unknown.
        causes: what woke them, the most important first; empty if that was not recorded.
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
        """Waiting time of all of them."""
        return sum(ns for _, ns in self.each)

    @property
    def share(self) -> float | None:
        """What part of their time they waited here."""
        return self.waited_ns / self.of_ns if self.of_ns > 0 else None

    @property
    def known_ns(self) -> int:
        """The part of `waited_ns` whose wake edges are known."""
        return sum(cause.wakes.waited_ns for cause in self.causes)


def waitings(context: Context) -> list[Waiting]:
    """Return every wait of every role, the one that took the largest part of its role's time first."""
    waits = [waiting for role in context.threads for waiting in waitings_of(role, context)]
    return sorted(waits, key=lambda one: (-(one.share or 0.0), one.role.name, one.path))


def waitings_of(role: Role, context: Context) -> list[Waiting]:
    """Return every wait of `role`, which may be a part of one, the longest first; waits within waits are in it."""
    sections = (section for section in context.run.sections if section.node.wait and not section.is_in_wait)
    waits = [_waiting(section, role, context) for section in sections]
    return sorted((one for one in waits if one.waited_ns), key=lambda one: (-one.waited_ns, one.path))


def _waiting(section: SectionView, role: Role, context: Context) -> Waiting:
    waited = {unit: ns for unit in role.units if (ns := unit.total_ns(section.node)) > 0}
    return Waiting(
        role=role,
        path=section.path,
        each=tuple(sorted(waited.items(), key=lambda item: (-item[1], item[0].name))),
        calls=sum(unit.calls(section.node) for unit in waited),
        of_ns=_time_ns(waited, context),
        causes=_causes(section, role, context.names) if waited else (),
    )


def _time_ns(units: Iterable[Unit], context: Context) -> int:
    """Return how long units were in sections, or, without a section but waits, how long they lived; 0: not known."""
    known = [context.present_ns(unit) if context.is_instrumented(unit) else unit.span_ns for unit in units]
    return sum(ns for ns in known if ns is not None) if None not in known else 0


def _causes(section: SectionView, role: Role, names: Mapping[str, Unit]) -> tuple[Cause, ...]:
    """Return what ended the waits of `role` at `section` and below it, by role and by the node that was open there."""
    waiters, served = set(role.writers), {unit.role for unit in names.values()}
    together: dict[tuple[str, str], list[tuple[str, str, Wakes]]] = {}
    for waker, wakes in section.wakers():
        if waker.writer in waiters:
            unit = names.get(waker.by)
            key = (unit.role, unit.section(waker.path)) if unit else (UNKNOWN, waker.path)
            name = unit.name if unit else UNKNOWN
            if key[0] in RELAYS and RELAYS[key[0]] in served:
                key, name = (RELAYS[key[0]], ""), RELAYS[key[0]]
            together.setdefault(key, []).append((name, waker.channel, wakes))
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


@dataclass(frozen=True, slots=True)
class Blame:
    """The waits of others for a straggler.

    Attributes:
        role: of the workers that waited.
        units: their number.
        path: of the node where they waited.
        waited_ns: their waiting time there, for any reason.
        for_it_ns: the part of it for the straggler.
        saved_ns: the most that each of them would have saved if the straggler were as fast as its peers.
        is_known: whether wake edges show it; otherwise it is inferred from numbers and times of calls.
    """

    role: str
    units: int
    path: str
    waited_ns: int
    for_it_ns: int
    saved_ns: int
    is_known: bool

    @property
    def share(self) -> float:
        """What part of the waiting was for the straggler."""
        return self.for_it_ns / self.waited_ns


def blames(one: Straggler, context: Context) -> list[Blame]:
    """Return the workers that waited for a straggler, other roles first; empty if none are known.

    Wake edges are used where they were recorded. Otherwise the waits are inferred: workers with equally many calls run
    in step, and a worker that waits as often as they are called, or once for each of them, waits for the slowest, for
    as long as that one takes longer than its peers, and at most for its whole waiting time.
    """
    everything = [
        each
        for section in context.run.sections
        for role in context.threads
        for each in _at(section, role, one)
    ]
    return sorted(
        everything, key=lambda each: (each.role == one.unit.role, -each.for_it_ns, each.path, each.role)
    )


def _at(section: SectionView, role: Role, one: Straggler) -> Iterator[Blame]:
    if not section.node.wait or section.is_in_wait:
        return
    units = [unit for unit in role.units if unit.run == one.unit.run and unit != one.unit]
    waited = {unit: ns for unit in units if (ns := unit.total_ns(section.node)) > 0}
    if not waited:
        return
    wakers = section.wakers()
    if wakers:
        yield from _told(section, role, waited, one, wakers)
    elif one.is_in_step:
        yield from _reckoned(section, role, waited, one)


def _told(
    section: SectionView,
    role: Role,
    waited: Mapping[Unit, int],
    one: Straggler,
    wakers: Sequence[tuple[Waker, Wakes]],
) -> Iterator[Blame]:
    """Yield the waits that wake edges show."""
    waiters = {writer for unit in waited for writer in unit.writers}
    for_it_ns = sum(
        wakes.waited_ns for waker, wakes in wakers if waker.writer in waiters and waker.by in one.unit.writers
    )
    if for_it_ns:
        saved_ns = min(for_it_ns // len(waited), one.excess_ns)
        whole_ns = max(for_it_ns, sum(waited.values()))
        yield Blame(role.name, len(waited), section.path, whole_ns, for_it_ns, saved_ns, is_known=True)


def _reckoned(
    section: SectionView, role: Role, waited: Mapping[Unit, int], one: Straggler
) -> Iterator[Blame]:
    """Yield what follows from going in step."""
    in_step = {unit: ns for unit, ns in waited.items() if _goes_with(unit.calls(section.node), one)}
    if in_step:
        spared = [min(ns, one.excess_ns) for ns in in_step.values()]
        yield Blame(
            role=role.name,
            units=len(in_step),
            path=section.path,
            waited_ns=sum(in_step.values()),
            for_it_ns=sum(spared),
            saved_ns=min(spared),
            is_known=False,
        )


def _goes_with(calls: int, one: Straggler) -> bool:
    """Return whether `calls` waits are one per call of the workers, or one for each of them."""
    steps = (one.calls, one.calls * (one.peers + 1))
    return calls >= LEAST_CALLS and any(abs(calls - step) <= IN_STEP_SHARE * step for step in steps)


@dataclass(frozen=True, slots=True)
class CriticalStretch:
    """The part of the critical path in one node of one role.

    Without it the run would be shorter by at most `ns`, hence at most `speedup` times as fast (Amdahl, Validity
    of the single processor approach to achieving large scale computing capabilities, AFIPS 1967). This is a bound,
    not a forecast: once this part is shorter, another path may be the longest (Hollingsworth, Critical Path Profiling
    of Message Passing and Shared-Memory Programs, IEEE TPDS 9(10), 1998).

    Attributes:
        role: of the workers.
        path: of the node; "" outside sections.
        ns: its length.
        share: of the whole path.
        by: the length on each worker, the longest first.
    """

    role: str
    path: str
    ns: int
    share: float
    by: tuple[tuple[str, int], ...]

    @property
    def speedup(self) -> float | None:
        """How many times as fast the run could be without it, at most; None if nothing would be left."""
        return 1 / (1 - self.share) if self.share < 1 else None


def critical_path(profile: Profile) -> list[CriticalStretch]:
    """Return the critical path by role and node, the longest part first; empty if none was recorded."""
    names = unit_of(roles(profile, "thread"))
    whole_ns = sum(profile.critical.values())
    together: dict[tuple[str, str], dict[str, int]] = {}
    for place, ns in profile.critical.items():
        unit = names.get(place.writer)
        key = (unit.role, unit.section(place.path)) if unit else (UNKNOWN, place.path)
        by = together.setdefault(key, {})
        name = unit.name if unit else UNKNOWN
        by[name] = by.get(name, 0) + ns
    stretches = [_stretch(role, path, by, whole_ns) for (role, path), by in together.items()]
    return sorted(stretches, key=lambda one: (-one.ns, one.role, one.path))


def _stretch(role: str, path: str, by: dict[str, int], whole_ns: int) -> CriticalStretch:
    ns = sum(by.values())
    ranked = sorted(by.items(), key=lambda item: (-item[1], item[0]))
    return CriticalStretch(role, path, ns, ns / whole_ns if whole_ns else 0.0, tuple(ranked))
