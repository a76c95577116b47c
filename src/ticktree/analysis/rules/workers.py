"""Rules about workers: stragglers, uneven work, workers that wait, and workers that cost more than they save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, Claim, Finding, Kind
from ticktree.analysis.loops import LoopView, SectionView
from ticktree.analysis.machine import QUANTILE, Machine, busy_threads, is_contended, most_saved_by_overlap
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.rules.locks import is_convoy
from ticktree.analysis.rules.queues import queue_waits
from ticktree.analysis.rules.torch import LOADER_WAIT
from ticktree.analysis.workers.imbalance import Imbalance, imbalance
from ticktree.analysis.workers.roles import Role, Worker
from ticktree.analysis.workers.stragglers import MIN_CALLS, Straggler, comparable_groups, long_lived_workers
from ticktree.analysis.workers.waits import Blame, Waiting, blames, claim_of, outer_waits
from ticktree.profile import path as paths
from ticktree.profile.table import sums_of

# No work is shared perfectly, and the busiest of many workers is a little busier by chance alone. At a fifth, one
# worker in five contributes nothing.
UNEVEN_SHARE = 0.2
# The names of threads that an executor, or the runtime of JAX, chooses for the next task.
EXECUTOR_ROLES = ("ThreadPoolExecutor", "jax callbacks")
# The workers of pools, which take tasks one after the other.
POOL_ROLES = ("ThreadPoolExecutor", "pool worker", "executor worker", "loky worker")
# The program waits this much longer than each of them works: so most of them have nothing to do most of that time.
UNEVEN_WAIT_FACTOR = 2.0
# One task in ten takes this much longer than half of them. Our own choice.
UNEVEN_TASK_FACTOR = 3.0

# A worker that waits for more than half of its life waits more than it works: one worker could do the work of two. Its
# life counts, because time outside all sections is not a wait.
IDLE_SHARE = 0.5
# A loop that works while it waits needs a change of the program's structure, which a smaller share of a tick does not
# justify: cores that share their caches and execution units are slower when both are busy. For two equal workers of a
# loop on two such cores, the rule promised 19% of a tick, and the loop gained 8%.
MIN_OVERLAP_SHARE = 0.25
# A worker must also wait for this share of the run: a thread that lived briefly may have waited for all of its life.
MIN_RUN_SHARE = 0.1
# The cause of a worker's waits is named only if it ended this share of them.
NAMED_SHARE = 0.1

# The names that instruments give to these waits tell what ends them.
ENDED_BY_NAME = frozenset({LOADER_WAIT})

# Workers serve a loop only in a section whose time is at least half waits that they ended.
SERVES_SHARE = 0.5
# Their work, one after the other, must take less than half of the time for which the loop waits to send to them and
# for them.
TRANSPORT_FACTOR = 2.0
# If a worker spends a smaller share of its life in sections, too little of its work is recorded.
RECORDED_LIFE_SHARE = 0.8


class StragglerRule:
    """One of several equal workers is slower than the others, which wait for it.

    Finds the slowest of each role's stragglers, with how many others there are; see docs/rules/straggler.md.
    """

    name: ClassVar[str] = "straggler"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each role, in each run, that has a straggler."""
        for role in context.comparable:
            if _uneven_tasks(role, context) is not None:
                continue  # it is chance which of its threads took most of the long tasks
            runs: set[str] = set()
            all_stragglers = _stragglers(context.stragglers[role.name], context)
            for straggler in all_stragglers:
                if straggler.worker.run in runs:
                    continue
                runs.add(straggler.worker.run)
                of_run = sum(peer.worker.run == straggler.worker.run for peer in all_stragglers)
                blame = next(iter(blames(straggler, context)), None)
                facts: Facts = {**_facts(straggler, of_run - 1), **_blame_facts(blame)}
                claim = Claim(blame.saved_ns / context.run_ns) if blame and context.run_ns else None
                yield finding(self.name, straggler.main_path, facts, claim)


def _stragglers(stragglers: Sequence[Straggler], context: Context) -> list[Straggler]:
    """Return the stragglers that lose enough to be reported."""
    return [straggler for straggler in stragglers if straggler.excess_ns >= MIN_SAVING_SHARE * context.run_ns]


def _facts(straggler: Straggler, others: int) -> Facts:
    suffix = {"call": "per_call", "total": "in_total", "wait": "waited_per_call", "between": "between"}[
        straggler.measure
    ]
    return {
        "worker": straggler.worker.name,
        "section": straggler.path,
        "measure": straggler.measure,
        "peers": straggler.peers,
        f"{suffix}_ns": straggler.took_ns,
        f"{suffix}_by_peers_ns": straggler.peers_took_ns,
        "as_long_factor": straggler.factor,
        "calls": straggler.calls,
        "excess_ns": straggler.excess_ns,
        "calls_by_peers": straggler.peers_calls if straggler.calls != straggler.peers_calls else None,
        "more_stragglers": others or None,
    }


def _blame_facts(blame: Blame | None) -> Facts:
    if blame is None:
        return {}
    return {
        "waiting_role": blame.role,
        "waiting_workers": blame.workers,
        "waited_in": blame.path,
        "waited_ns": blame.waited_ns,
        "waited_for_it_ns": blame.for_it_ns,
        "waited_for_it_share": blame.share,
        "known_by": "wake edges" if blame.is_known else "equal numbers of calls",
    }


class ImbalanceRule:
    """Work is unevenly shared among workers of a role.

    Finds each role whose work is unevenly shared, also without stragglers; see docs/rules/imbalance.md.
    """

    name: ClassVar[str] = "imbalance"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each role, in each run, whose busiest thread is far busier than the mean."""
        for role in context.threads:
            stragglers = {straggler.worker for straggler in context.stragglers[role.name]}
            for workers in comparable_groups(role):
                uneven = imbalance(
                    [worker for worker in long_lived_workers(workers) if worker not in stragglers], context
                )
                # The program does not choose which thread of an executor takes the next task.
                if role.name.startswith(EXECUTOR_ROLES) or uneven is None:
                    continue
                if uneven.share > UNEVEN_SHARE and uneven.lost_ns > MIN_SAVING_SHARE * context.run_ns > 0:
                    yield self._finding(role, uneven, context.run_ns)

    def _finding(self, role: Role, uneven: Imbalance, run_ns: int) -> Finding:
        facts: Facts = {
            "role": role.name,
            "workers": uneven.workers,
            "busiest": uneven.busiest.name,
            "busy_ns": uneven.busiest_ns,
            "mean_busy_ns": uneven.mean_ns,
            "imbalance_share": uneven.share,
        }
        return finding(self.name, "", facts, Claim(uneven.lost_ns / run_ns))


class UnevenTasksRule:
    """Tasks of a pool take unequally long, and the program waits for the longest while other workers have none.

    Finds each pool whose workers work for less than half of the time for which the program waits for them; see
    docs/rules/uneven-tasks.md.
    """

    name: ClassVar[str] = "uneven-tasks"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each pool, about the tasks that take most of its workers' time."""
        for role in context.threads:
            tasks = _uneven_tasks(role, context)
            if tasks is None:
                continue
            waited_ns = _wait_for_role_ns(role, context)
            worked_ns = sum(worker.total_ns(tasks.node) for worker in role.workers) / role.count
            lost_ns = waited_ns - worked_ns - _wait_for_cores_ns(context)
            if context.run_ns and waited_ns >= UNEVEN_WAIT_FACTOR * worked_ns and lost_ns > worked_ns:
                facts: Facts = {
                    "role": role.name,
                    "workers": role.count,
                    "section": tasks.path,
                    "long_call_ns": tasks.stats.p90_ns or 0,
                    "typical_call_ns": tasks.stats.p50_ns or 0,
                    "calls": tasks.count,
                    "worked_ns": worked_ns,
                    "waited_ns": waited_ns,
                }
                yield finding(self.name, tasks.path, facts, Claim(lost_ns / context.run_ns))


def _uneven_tasks(role: Role, context: Context) -> SectionView | None:
    """Return the tasks in which a pool's workers spend most of their time; None if they take equally long."""
    if role.count < 2 or not role.name.startswith(POOL_ROLES):
        return None
    sections = [
        section
        for section in context.run.sections
        if section.is_parallel and not section.is_wait and section.count >= MIN_CALLS * role.count
    ]
    total_ns = {
        section.path: sum(worker.total_ns(section.node) for worker in role.workers) for section in sections
    }
    tasks = max(sections, key=lambda section: (total_ns[section.path], section.path), default=None)
    if tasks is None or not total_ns[tasks.path]:
        return None
    is_uneven = (tasks.stats.p90_ns or 0) >= UNEVEN_TASK_FACTOR * (tasks.stats.p50_ns or 0)
    return tasks if is_uneven else None


def _wait_for_cores_ns(context: Context) -> float:
    """Return for how long all threads together could have run but had no core; 0 if unknown."""
    machine = Machine(context.profile)
    used, waiting = machine.at("used", QUANTILE), machine.at("waiting", QUANTILE)
    if not machine.is_one or used is None or waiting is None or waiting >= 1:
        return 0.0
    return busy_threads(used, waiting) * waiting * context.run_ns


def _wait_for_role_ns(role: Role, context: Context) -> int:
    """Return the longest time that a thread of another role waited for workers of `role`."""
    return max(
        (
            cause.wakes.waited_ns // wait.count
            for other in context.threads
            if other is not role
            for wait in outer_waits(other, context)
            for cause in wait.causes
            if cause.role == role.name
        ),
        default=0,
    )


class IdleWorkerRule:
    """A worker waits more than it works.

    Finds each role's idle threads, their longest wait, and what ends it; see docs/rules/idle-worker.md.
    """

    name: ClassVar[str] = "idle-worker"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each role with workers that wait for more than half of their time."""
        if len(context.names) < 2:  # there is no other worker to wait for
            return
        idle = {role.name: Role(role.name, tuple(_idle(role, context))) for role in context.threads}
        # The longest wait of each role's idle workers.
        waits = [
            (role, wait) for role in context.threads for wait in outer_waits(idle[role.name], context)[:1]
        ]
        served = [finding.path for finding in TransportRule().find(context)]
        served += [wait.section.path for wait in queue_waits(context)]
        explained = _explained([wait for _, wait in waits], context) | {
            role.name for role, wait in waits if is_convoy(wait, context)
        }
        for role, wait in waits:
            if role.name not in explained and not any(
                wait.path == path or paths.is_descendant(wait.path, path) for path in served
            ):
                yield self._finding(role, _idle(role, context), wait, context)

    def _finding(self, role: Role, idle: Mapping[Worker, int], wait: Waiting, context: Context) -> Finding:
        claim = claim_of(wait, context)
        lives_ns = sum(_time_ns(worker, context) for worker in idle)
        facts: Facts = {
            "role": role.name,
            "workers": role.count,
            "idle_workers": Role(role.name, tuple(idle)).count,
            "waited_ns": sum(idle.values()),
            "waited_share": sum(idle.values()) / lives_ns,
            "waited_there_ns": wait.waited_ns,
            "known_cause_share": min(1.0, wait.known_ns / wait.waited_ns),
        }
        if len(idle) == 1:
            facts["worker"] = next(iter(idle)).name
        causes = [cause for cause in wait.causes if cause.wakes.waited_ns >= NAMED_SHARE * wait.waited_ns]
        for prefix, cause in zip(("", "second_"), causes, strict=False):
            facts[f"{prefix}woken_by"] = cause.by[0][0] if len(cause.by) == 1 else cause.role
            facts[f"{prefix}woken_in"] = cause.path
            facts[f"{prefix}woken_by_share"] = min(1.0, cause.wakes.waited_ns / wait.waited_ns)
        # Workers that wait are spare capacity; a main loop that waits could be faster, unless it waits for a core, or
        # the cause of its wait is unknown.
        is_by_name = context.profile.root.at(wait.path).name in ENDED_BY_NAME
        kind: Kind = "size"
        if claim is not None and (causes or is_by_name) and not is_contended(Machine(context.profile)):
            if not is_by_name:  # otherwise more workers of a DataLoader would save all of it
                claim = _overlapped(claim, wait, context)
            kind = "recommendation" if claim.share >= MIN_OVERLAP_SHARE else "size"
        return finding(self.name, wait.path, facts, claim, kind=kind)


def _overlapped(claim: Claim, wait: Waiting, context: Context) -> Claim:
    """Return what a loop gains if it works while it waits.

    It gains no more than its busy time, the free time of the busiest worker it waits for, and what free cores allow.
    """
    view, share = context.view_of(claim.path), claim.share
    if view is not None:
        loop_ns = view.sections[0].node.total_ns
        names = {name for cause in wait.causes for name, _ in cause.by}
        workers = [worker for worker in context.names.values() if worker.name in names]
        worked_ns = max((context.worked_ns(worker) / worker.members for worker in workers), default=0)
        share = min(share, view.share(view.busy_ns), max(0.0, 1 - worked_ns / loop_ns))
    return Claim(min(share, most_saved_by_overlap(Machine(context.profile))), claim.path)


def _explained(waits: Sequence[Waiting], context: Context) -> set[str]:
    """Return the roles that wait for a straggler, directly or not: the straggler's finding reports their waits."""
    stragglers = _stragglers([*chain(*context.stragglers.values())], context)
    blamed = {(blame.role, blame.path) for straggler in stragglers for blame in blames(straggler, context)}
    explained = {wait.role.name for wait in waits if (wait.role.name, wait.path) in blamed}
    while True:
        more = {wait.role.name for wait in waits if wait.causes and wait.causes[0].role in explained}
        if more <= explained:
            return explained
        explained |= more


def _idle(role: Role, context: Context) -> dict[Worker, int]:
    """Return the workers of `role` that wait for more than half of their time, and for how long, in their order."""
    waits = (wait for wait in outer_waits(role, context) if wait.calls >= MIN_CALLS * wait.count)
    waited = sums_of(dict(wait.by_worker) for wait in waits)
    return {
        worker: waited[worker] for worker in role.workers if _is_idle(worker, waited.get(worker, 0), context)
    }


def _is_idle(worker: Worker, waited_ns: int, context: Context) -> bool:
    is_long = waited_ns >= MIN_RUN_SHARE * context.run_ns * worker.members
    return is_long and waited_ns > IDLE_SHARE * _time_ns(worker, context) > 0


def _time_ns(worker: Worker, context: Context) -> int:
    """Return how long a worker lived; if it runs the main loop, without the start-up before its first tick."""
    view = next(iter(context.main_loops), None)
    is_main = view is not None and not view.sections[0].node.by_thread.keys().isdisjoint(worker.threads)
    life_ns = context.life_ns(worker)
    return life_ns - min(life_ns, context.startup_ns or 0) if is_main else life_ns


class TransportRule:
    """Sending work to workers and waiting for them takes longer than the work itself.

    Finds each main loop whose workers are busy for less than half of what the loop waits for them; see
    docs/rules/transport.md.
    """

    name: ClassVar[str] = "transport"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop and role that serves it, unless other processes use the run's cores."""
        if is_contended(Machine(context.profile)):  # then the loop may wait for cores, not for pipes
            return
        passing = [wait for wait in queue_waits(context) if wait.is_passing]
        yield from (wait.finding(self.name) for wait in passing)
        explained = {wait.section.path for wait in passing}
        for view in context.main_loops:
            for role in context.threads:
                section = _served_section(view, role)
                is_served = section is not None and section.count >= MIN_CALLS
                if section is None or not is_served or section.path in explained:
                    continue
                if not all(_is_recorded(worker, context) for worker in role.workers):
                    continue
                worked_ns = sum(map(context.worked_ns, role.workers)) / section.node.count * section.calls
                parts = (section, *section.all_below())
                blocked_ns = sum(part.self_ns for part in parts if part.is_wait and not part.is_parallel)
                if TRANSPORT_FACTOR * worked_ns >= blocked_ns:
                    continue
                facts: Facts = {
                    "role": role.name,
                    "workers": role.count,
                    "section": section.path,
                    "blocked_per_tick_ns": blocked_ns,
                    "worked_per_tick_ns": worked_ns,
                    "calls": section.count,
                }
                claim = Claim(view.share(blocked_ns - worked_ns), view.path)
                yield finding(self.name, section.path, facts, claim)


def _served_section(view: LoopView, role: Role) -> SectionView | None:
    """Return the section in which a loop sends work to a role and waits for it; None if there is none.

    It is the innermost section around all of the loop's waits that the role ended: sending is next to waiting.
    """
    worker_threads, loop_threads = set(role.threads), set(view.sections[0].node.by_thread)
    if view.loop is None or worker_threads & loop_threads:
        return None
    waits: list[SectionView] = []
    for section in view.path_sections:
        waited_ns = sum(
            wakes.waited_ns for waker, wakes in section.node.wakers.items() if waker.by in worker_threads
        )
        if section.node.wait and waited_ns >= SERVES_SHARE * section.node.total_ns > 0:
            waits.append(section)
    if not waits:
        return None
    common = [waits[0], *waits[0].above()]
    for wait in waits[1:]:
        lineage = {wait.path, *(above.path for above in wait.above())}
        common = [section for section in common if section.path in lineage]
    return next((section for section in common if not section.node.wait), waits[0])


def _is_recorded(worker: Worker, context: Context) -> bool:
    return worker.span_ns is not None and context.present_ns(worker) >= RECORDED_LIFE_SHARE * worker.span_ns
