"""Blame: how much of the others' waiting is for a straggler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.loops import SectionView
from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import Role, Unit
from ticktree.analysis.workers.stragglers import IN_STEP_SHARE, LEAST_CALLS, Straggler
from ticktree.profile import Waker, Wakes


@dataclass(frozen=True, slots=True)
class Blame:
    """What others waited for a straggler.

    Attributes:
        role: of those who waited.
        units: how many they are.
        path: where they did.
        waited_ns: how long, whoever for.
        for_it_ns: how much of it was for the straggler.
        saved_ns: how much each of them would have been spared, at most, had it been as fast as its peers.
        is_known: whether signals told, or it follows from how often and how long each of them was where.
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


def blames(one: Straggler, seen: Survey) -> list[Blame]:
    """Return who waited for `one`, others than its like first; nobody where nobody is known to have.

    Where signals tell who ended a wait, they are believed. Elsewhere it is reckoned: workers that are called equally
    often go in step, and who waits as often as they are called, or once for each of them, waits for the slowest;
    for as long as that one takes longer than its peers, at most for as long as was waited at all.
    """
    everything = [
        each for section in seen.run.sections for role in seen.threads for each in _at(section, role, one)
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
    """Yield what signals say."""
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
    """Tell whether somebody who waited `calls` times did so once a call of the workers, or once for each of them."""
    steps = (one.calls, one.calls * (one.peers + 1))
    return calls >= LEAST_CALLS and any(abs(calls - step) <= IN_STEP_SHARE * step for step in steps)
