"""Waits: where roles waited, what woke them, how much of it was for a straggler, and the critical path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim
from ticktree.analysis.loops import SectionView
from ticktree.analysis.workers.roles import UNKNOWN, Role, Worker, roles, worker_by_thread
from ticktree.analysis.workers.stragglers import IN_STEP_SHARE, MIN_CALLS, Straggler
from ticktree.profile import Profile, Wakes

# Library threads that only relay results, and the role that did the work.
RELAYS = {"_handle_results": "pool worker"}


@dataclass(frozen=True, slots=True)
class Cause:
    """The role and the section that ended waits.

    Attributes:
        role: role of the workers that ended the waits; `UNKNOWN` if unknown.
        path: path of their open section; "" if there was none.
        channels: the channels used, in alphabetical order.
        wakes: number and duration of the waits that they ended.
        by: the waited nanoseconds of `wakes` per worker, the largest first.
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
        path: path of the node.
        by_worker: the workers that waited there with their waits in nanoseconds, the longest first.
        calls: number of waits of all of them together.
        of_ns: their time in any section; for workers whose only sections are waits, their lifetime; 0 if unknown.
        causes: what woke them, the longest waits first; empty if no wake edge was recorded.
    """

    role: Role
    path: str
    by_worker: tuple[tuple[Worker, int], ...]
    calls: int
    of_ns: int
    causes: tuple[Cause, ...]

    @property
    def count(self) -> int:
        """Number of workers that waited there."""
        return sum(worker.members for worker, _ in self.by_worker)

    @property
    def waited_ns(self) -> int:
        """Waiting time of all of them."""
        return sum(ns for _, ns in self.by_worker)

    @property
    def share(self) -> float | None:
        """The part of their time that they waited here; None if unknown."""
        return self.waited_ns / self.of_ns if self.of_ns > 0 else None

    @property
    def known_ns(self) -> int:
        """The part of `waited_ns` whose wake edges are known."""
        return sum(cause.wakes.waited_ns for cause in self.causes)


def waitings(context: Context) -> list[Waiting]:
    """Return the waits of all roles, the largest share of its role's time first."""
    waits = [waiting for role in context.threads for waiting in waitings_of(role, context)]
    return sorted(waits, key=lambda wait: (-(wait.share or 0.0), wait.role.name, wait.path))


def waitings_of(role: Role, context: Context) -> list[Waiting]:
    """Return the waits of `role`, or of a part of it, the longest first; the outer wait includes nested ones."""
    sections = (section for section in context.run.sections if section.node.wait and not section.is_in_wait)
    waits = [_waiting(section, role, context) for section in sections]
    return sorted((wait for wait in waits if wait.waited_ns), key=lambda wait: (-wait.waited_ns, wait.path))


def outer_waits(role: Role, context: Context) -> list[Waiting]:
    """Return the waits of `role`, the longest first, without the sleeps that hold a loop's rate."""
    return [wait for wait in waitings_of(role, context) if wait.path not in context.slack]


def claim_of(wait: Waiting, context: Context) -> Claim | None:
    """Return the share of a main loop's tick that it waits there; None if the wait is in no main loop."""
    for view in context.main_loops:
        for section in view.sections:
            if view.loop is not None and section.path == wait.path and not section.is_parallel:
                return Claim(section.total_ns / view.tick_ns, view.path)
    return None


def _waiting(section: SectionView, role: Role, context: Context) -> Waiting:
    waited = {worker: ns for worker in role.workers if (ns := worker.total_ns(section.node)) > 0}
    return Waiting(
        role=role,
        path=section.path,
        by_worker=tuple(sorted(waited.items(), key=lambda item: (-item[1], item[0].name))),
        calls=sum(worker.calls(section.node) for worker in waited),
        of_ns=_available_ns(waited, context),
        causes=_causes(section, role, context.names) if waited else (),
    )


def _available_ns(workers: Iterable[Worker], context: Context) -> int:
    """Return the workers' time in sections, or their lifetime if their only sections are waits; 0 if unknown."""
    times = [
        context.present_ns(worker) if context.is_instrumented(worker) else worker.span_ns
        for worker in workers
    ]
    return sum(ns for ns in times if ns is not None) if None not in times else 0


def _causes(section: SectionView, role: Role, names: Mapping[str, Worker]) -> tuple[Cause, ...]:
    """Return what ended the waits of `role` at `section` and below, by role and by open node."""
    waiters, existing_roles = set(role.threads), {worker.role for worker in names.values()}
    groups: dict[tuple[str, str], list[tuple[str, str, Wakes]]] = defaultdict(list)
    for waker, wakes in section.wakers():
        if waker.thread in waiters:
            role_name, path, name = _locate(waker.by, waker.path, names)
            worker_role = RELAYS.get(role_name)
            if worker_role in existing_roles:
                role_name, path, name = worker_role, "", worker_role
            groups[role_name, path].append((name, waker.channel, wakes))
    causes = [_cause(by, path, edges) for (by, path), edges in groups.items()]
    return tuple(sorted(causes, key=lambda cause: (-cause.wakes.waited_ns, cause.role, cause.path)))


def _locate(thread: str, path: str, names: Mapping[str, Worker]) -> tuple[str, str, str]:
    """Return a thread's role, its section at `path`, and its name."""
    worker = names.get(thread)
    return (worker.role, worker.section(path), worker.name) if worker else (UNKNOWN, path, UNKNOWN)


def _longest_first(ns_by_name: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(ns_by_name.items(), key=lambda item: (-item[1], item[0])))


def _cause(role: str, path: str, edges: Sequence[tuple[str, str, Wakes]]) -> Cause:
    wakes = Wakes(0, 0, 0)
    ns_by_name: dict[str, int] = defaultdict(int)
    for name, _, part in edges:
        wakes += part
        ns_by_name[name] += part.waited_ns
    channels = sorted({channel for _, channel, _ in edges})
    return Cause(role, path, tuple(channels), wakes, _longest_first(ns_by_name))


@dataclass(frozen=True, slots=True)
class Blame:
    """The waits of other workers for a straggler.

    Attributes:
        role: role of the workers that waited.
        workers: their number.
        path: path of the node where they waited.
        waited_ns: their waiting time there, for any reason.
        for_it_ns: the part of it for the straggler.
        saved_ns: the most that each of them would have saved if the straggler were as fast as its peers.
        is_known: whether wake edges show it; otherwise it is inferred from numbers and times of calls.
    """

    role: str
    workers: int
    path: str
    waited_ns: int
    for_it_ns: int
    saved_ns: int
    is_known: bool

    @property
    def share(self) -> float:
        """The part of the waiting time that was for the straggler."""
        return self.for_it_ns / self.waited_ns


def blames(straggler: Straggler, context: Context) -> list[Blame]:
    """Return the workers that waited for a straggler, other roles first; empty if none are known.

    Wake edges are used where they were recorded. Otherwise the waits are inferred: workers with equally many calls run
    in step, and a worker that waits once per call, or once per call of each of them, waits for the slowest, for as
    long as the slowest takes longer than its peers, and at most for its whole waiting time.
    """
    results = [
        blame
        for section in context.run.sections
        for role in context.threads
        for blame in _blames_at(section, role, straggler)
    ]
    return sorted(
        results,
        key=lambda blame: (blame.role == straggler.worker.role, -blame.for_it_ns, blame.path, blame.role),
    )


def _blames_at(section: SectionView, role: Role, straggler: Straggler) -> Iterator[Blame]:
    if not section.node.wait or section.is_in_wait:
        return
    workers = [
        worker for worker in role.workers if worker.run == straggler.worker.run and worker != straggler.worker
    ]
    waited = {worker: ns for worker in workers if (ns := worker.total_ns(section.node)) > 0}
    wakers = section.wakers() if waited else []
    if wakers:  # they show which workers waited for it
        waiters = {thread for worker in waited for thread in worker.threads}
        for_it_ns = sum(
            wakes.waited_ns
            for waker, wakes in wakers
            if waker.thread in waiters and waker.by in straggler.worker.threads
        )
        if for_it_ns:
            saved_ns = min(for_it_ns // len(waited), straggler.excess_ns)
            total_ns = max(for_it_ns, sum(waited.values()))
            yield Blame(role.name, len(waited), section.path, total_ns, for_it_ns, saved_ns, is_known=True)
    elif straggler.is_in_step:  # workers that run in step with the straggler's role wait for it
        waits = [ns for worker, ns in waited.items() if _is_in_step(worker.calls(section.node), straggler)]
        saved = [min(ns, straggler.excess_ns) for ns in waits]
        if waits:
            yield Blame(
                role.name, len(waits), section.path, sum(waits), sum(saved), min(saved), is_known=False
            )


def _is_in_step(calls: int, straggler: Straggler) -> bool:
    """Return whether `calls` waits are one per step of the workers, or one per step and worker."""
    steps = (straggler.calls, straggler.calls * (straggler.peers + 1))
    return calls >= MIN_CALLS and any(abs(calls - step) <= IN_STEP_SHARE * step for step in steps)


@dataclass(frozen=True, slots=True)
class CriticalShare:
    """The part of the critical path in one node of one role.

    Without it the run would be shorter by at most `ns`, hence at most `speedup` times as fast (Amdahl, Validity
    of the single processor approach to achieving large scale computing capabilities, AFIPS 1967). This is a bound,
    not a forecast: once this part is shorter, another path may be the longest (Hollingsworth, Critical Path Profiling
    of Message Passing and Shared-Memory Programs, IEEE TPDS 9(10), 1998).

    Attributes:
        role: role of the workers.
        path: path of the node; "" outside sections.
        ns: its duration.
        share: its share of the whole critical path.
        by: the duration on each worker, the longest first.
    """

    role: str
    path: str
    ns: int
    share: float
    by: tuple[tuple[str, int], ...]

    @property
    def speedup(self) -> float | None:
        """How many times as fast the run could be without this part, at most; None if no time would be left."""
        return 1 / (1 - self.share) if self.share < 1 else None


def critical_path(profile: Profile) -> list[CriticalShare]:
    """Return the critical path by role and node, the longest part first; empty if none was recorded."""
    names = worker_by_thread(roles(profile, "thread"))
    total_ns = sum(profile.critical.values())
    groups: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for position, ns in profile.critical.items():
        role, path, name = _locate(position.thread, position.path, names)
        groups[role, path][name] += ns
    shares = [
        CriticalShare(role, path, ns, ns / total_ns if total_ns else 0.0, _longest_first(by))
        for (role, path), by in groups.items()
        for ns in [sum(by.values())]
    ]
    return sorted(shares, key=lambda part: (-part.ns, part.role, part.path))
