"""A worker that waits more than it works: where, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.rules.straggler import matters
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import last_name, percent, who
from ticktree.analysis.workers.blame import blames
from ticktree.analysis.workers.roles import Role, Unit
from ticktree.analysis.workers.stragglers import LEAST_CALLS
from ticktree.analysis.workers.waits import Waiting, waitings_of

# Who waits for more than half of its life waits more than it works: one of them could do the work of two. Of its life,
# for what it does outside of all sections is no wait.
IDLE_SHARE = 0.5
# It must also wait for so much of the run: a thread that lived for a moment may have waited for all of it.
LEAST_RUN_SHARE = 0.1
# What instruments/torch calls the wait for a DataLoader's next batch.
LOADER_WAIT = "DataLoader wait"
# Who let it go on is only named where they ended so much of its waits.
NAMED_SHARE = 0.1


class IdleWorkerRule:
    """Each role's idle threads, with where they wait most and for whom; see docs/rules/idle-worker.md."""

    name: ClassVar[str] = "idle-worker"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each role of which some wait for more than half of their time."""
        if len(seen.names) < 2:  # nobody is there to wait for
            return
        waits = [(role, wait) for role in seen.threads if (wait := _wait(role, seen)) is not None]
        explained = _explained([wait for _, wait in waits], seen)
        for role, wait in waits:
            if role.name not in explained:
                yield self._finding(role, _idle(role, seen), wait, seen)

    def _finding(self, role: Role, idle: Mapping[Unit, int], wait: Waiting, seen: Survey) -> Finding:
        waited_ns = sum(idle.values())
        share = waited_ns / sum(_life_ns(unit, seen) for unit in idle)
        some = Role(role.name, tuple(idle))
        name = some.units[0].name if len(idle) == 1 else who(role.name, some.count)
        if 1 < some.count < role.count:
            name = f"{some.count:,} of {who(role.name, role.count)}"
        claim = _claim(wait, seen)
        return Finding(
            rule=self.name,
            # Workers that wait are capacity to spare; a main loop that waits would be faster.
            kind="size" if claim is None else "recommendation",
            claim=claim,
            path=wait.path,
            message="".join(_said(name, some.count, share, wait)),
            evidence={
                "who": name,
                "waited_ns": waited_ns,
                "of_the_time_share": share,
                "waited_there_ns": wait.waited_ns,
                "known_for_whom_share": min(1.0, wait.known_ns / wait.waited_ns),
            },
        )


def _wait(role: Role, seen: Survey) -> Waiting | None:
    """Return where the idle ones of `role` wait most; None where none of them is idle."""
    return next(iter(_waits(Role(role.name, tuple(_idle(role, seen))), seen)), None)


def _waits(role: Role, seen: Survey) -> list[Waiting]:
    """Return what `role` waits for, the longest first; a loop that sleeps to hold its rate waits for nobody."""
    return [wait for wait in waitings_of(role, seen) if wait.path not in seen.slack]


def _explained(waits: Sequence[Waiting], seen: Survey) -> set[str]:
    """Return the roles that wait for a straggler, or for others who do: that is said of the straggler."""
    slow = [one for some in seen.stragglers.values() for one in some if matters(one, seen)]
    blamed = {(each.role, each.path) for one in slow for each in blames(one, seen)}
    explained = {wait.role.name for wait in waits if (wait.role.name, wait.path) in blamed}
    while True:
        more = {wait.role.name for wait in waits if wait.causes and wait.causes[0].role in explained}
        if more <= explained:
            return explained
        explained |= more


def _idle(role: Role, seen: Survey) -> dict[Unit, int]:
    """Return those of `role` who wait for more than half of their time, and for how long, in their order."""
    waited: dict[Unit, int] = {}
    for wait in _waits(role, seen):
        if wait.calls >= LEAST_CALLS * wait.count:
            for unit, ns in wait.each:
                waited[unit] = waited.get(unit, 0) + ns
    return {unit: waited[unit] for unit in role.units if _is_idle(unit, waited.get(unit, 0), seen)}


def _is_idle(unit: Unit, waited_ns: int, seen: Survey) -> bool:
    is_long = waited_ns >= LEAST_RUN_SHARE * seen.run_ns * unit.members
    return is_long and waited_ns > IDLE_SHARE * _life_ns(unit, seen) > 0


def _claim(wait: Waiting, seen: Survey) -> Claim | None:
    """Return what a main loop waits there in each tick; None of a wait in no main loop."""
    for view in seen.main_loops:
        for section in view.sections:
            if view.loop is not None and section.path == wait.path and not section.is_parallel:
                return Claim(section.total_ns / view.tick_ns, view.path)
    return None


def _life_ns(unit: Unit, seen: Survey) -> int:
    return max(seen.present_ns(unit), unit.span_ns or 0)


def _said(name: str, count: int, share: float, wait: Waiting) -> Iterator[str]:
    """Yield the parts of the sentence: who waits where and how much, for whom, and what could be done."""
    verb, their = ("waits", "its") if count == 1 else ("wait", "their")
    yield f"{name} {verb} {percent(share)} of {their} time, most of it in {last_name(wait.path)}"
    causes = [cause for cause in wait.causes if cause.wakes.waited_ns >= NAMED_SHARE * wait.waited_ns]
    for place, cause in enumerate(causes[:2]):
        part = percent(min(1.0, cause.wakes.waited_ns / wait.waited_ns))
        by = cause.by[0][0] if len(cause.by) == 1 else cause.role
        there = f" in {last_name(cause.path)}" if cause.path else ""
        yield f"{' and' if place else ':'} {part} of that for {by}{there}"
    if last_name(wait.path) == LOADER_WAIT:
        yield "; give the DataLoader more workers (num_workers), or a larger prefetch_factor"
