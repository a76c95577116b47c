"""Stragglers: workers that are slower than their peers, or for which their peers wait at collectives."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, TypeAlias

from ticktree.analysis.loops import PRECISE_SHARE, SectionView
from ticktree.analysis.workers.roles import Role, Worker, amount
from ticktree.profile import Node
from ticktree.profile.measures import HOST
from ticktree.profile.stats import rounded_ratio

# Collectives at which every rank waits for all others, by their names in instruments/torch. In a broadcast, none does.
BLOCKING = frozenset(
    {
        *("all_reduce", "all_reduce_coalesced", "barrier", "monitored_barrier"),
        *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object"),
        *("all_gather_single", "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single"),
        *("all_to_all", "all_to_all_single"),
    }
)
# A rank has arrived before these begin: in them it only waits for the others.
COLLECTIVES = BLOCKING | {"DDP all_reduce", "Work.wait"}
# A straggler's peers must wait this many times as long: waits vary as much as all other times together.
LATE_FACTOR = 2.0


def is_collective(node: Node) -> bool:
    """Return whether every worker waits for all others in `node`."""
    return node.wait and node.name in COLLECTIVES and node.clock == HOST


def _late_arrivals(waited: Mapping[Worker, int]) -> Iterator[tuple[Worker, int]]:
    """Yield the workers that arrive after the others, and how long the others wait, by each wait per call in ns."""
    for worker, wait_ns in waited.items():
        peer_waits = [ns for peer, ns in waited.items() if peer != worker]
        peers_ns = median(peer_waits) if peer_waits else 0
        min_gap_ns = (
            MAX_DEVIATIONS * median(abs(ns - peers_ns) for ns in peer_waits) if len(peer_waits) > 1 else 0.0
        )
        if peers_ns > 0 and peers_ns >= LATE_FACTOR * wait_ns and peers_ns - wait_ns > min_gap_ns:
            yield worker, round(peers_ns)


# Equal workers that share a machine differ by some percent. If all wait for the slowest, a worker that is 1.2 times
# as slow costs up to a sixth of the time: enough to report.
SLOWER_FACTOR = 1.2
# With only one peer, the variation among equals is unknown, so the gap must be plain. Mantri calls a task that takes
# 1.5 times the median an outlier (Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters, OSDI
# 2010); twice is beyond that.
PLAIN_FACTOR = 2.0
# Peers vary, too: three standard deviations, estimated from the median absolute deviation (times 1.4826, which is
# right for normal distributions), because a second straggler must not hide the first.
MAX_DEVIATIONS = 3 * 1.4826
# The first call of a worker imports, allocates and compiles; with ten calls it no longer dominates the mean.
MIN_CALLS = 10
# Workers whose numbers of calls differ by at most this share run in step: a wait for one of them is for all.
IN_STEP_SHARE = 0.05
# A worker is present as long as the others if its lifetime is this share of the longest lifetime.
WHOLE_LIFE_SHARE = 0.8
# Fewer processes with individual names may do different things, and wait in the same node by chance. Our own choice.
MIN_PEERS = 3
# The name of the role of such processes; no output shows it.
SAME_WAITS = "(same waits)"
# Parents come before their children, and time lost in a child is lost in the parent: if both lose about the same,
# the parent is reported. By chance, the child may seem to lose slightly more.
CLEARLY_MORE = 1.1


Measure: TypeAlias = Literal["call", "total", "wait", "between"]


@dataclass(frozen=True, slots=True)
class Straggler:
    """A worker that is slower than its peers.

    Attributes:
        worker: the worker.
        path: path of the node where it loses most.
        main_path: path of the node at or below `path` with most of the lost time.
        measure: `call` if each of its calls takes longer, `total` if all of them together do, `wait` if it waits less
            for the others at a collective than they wait for it, `between` if it takes longer from one wait to the
            next, where nothing but waits is known of it.
        peers: number of its peers.
        took_ns: its mean call, or all calls, without waits; for `wait`, its mean wait.
        peers_took_ns: the median of the same over its peers.
        calls: number of its calls.
        peers_calls: the median of its peers' numbers of calls.
        excess_ns: how much longer all its calls took than as many of its peers', or than all of theirs.
    """

    worker: Worker
    path: str
    main_path: str
    measure: Measure
    peers: int
    took_ns: int
    peers_took_ns: int
    calls: int
    peers_calls: int
    excess_ns: int

    @property
    def factor(self) -> float:
        """How many times as long as its peers the worker took."""
        return self.took_ns / self.peers_took_ns

    @property
    def is_in_step(self) -> bool:
        """Whether the worker has as many calls as its peers: a wait for all of them is for the slowest."""
        return abs(self.calls - self.peers_calls) <= IN_STEP_SHARE * self.peers_calls


def stragglers(role: Role, sections: Sequence[SectionView]) -> list[Straggler]:
    """Return the stragglers of `role`, largest loss first; each once, at the node of the tree where it loses most."""
    worst: dict[Worker, tuple[Straggler, SectionView]] = {}
    for workers in comparable_groups(role):
        section = _only_wait(sections, workers)
        if section is not None:
            worst.update(
                {
                    straggler.worker: (straggler, section)
                    for straggler in _stragglers_between_waits(sections[0], section, workers)
                }
            )
            continue
        for section in sections[1:]:
            is_other_wait = section.node.wait and not is_collective(section.node)
            if section.is_in_wait or section.is_remote or is_other_wait:
                continue
            for straggler in _stragglers_at(section, workers):
                if straggler.worker not in worst or _weight(straggler) > CLEARLY_MORE * _weight(
                    worst[straggler.worker][0]
                ):
                    worst[straggler.worker] = straggler, section
    results = [
        replace(straggler, main_path=_main_path(straggler, section, role))
        for straggler, section in worst.values()
    ]
    return sorted(
        results, key=lambda straggler: (-straggler.excess_ns, straggler.worker.run, straggler.worker.name)
    )


def role_in_step(all_roles: Sequence[Role], sections: Sequence[SectionView]) -> Role | None:
    """Return the processes with individual names that do the same, as one role; None if there are none.

    They are three or more processes whose only sections are waits, and which wait equally often in the same section.
    """
    groups: dict[tuple[str, str], list[Worker]] = {}
    for role in all_roles:
        worker = role.equals[0] if len(role.workers) == 1 and role.equals else None
        section = None if worker is None else _only_wait(sections, [worker])
        if worker is not None and section is not None:
            groups.setdefault((worker.run, section.path), []).append(worker)
    workers = max(groups.values(), key=lambda workers: len(workers), default=[])
    are_peers = len(workers) >= MIN_PEERS and _only_wait(sections, workers) is not None
    return Role(SAME_WAITS, tuple(workers)) if are_peers else None


def _only_wait(sections: Sequence[SectionView], workers: Sequence[Worker]) -> SectionView | None:
    """Return the section in which `workers` wait most often, equally often; None if they have other than waits."""
    entered = [section for section in sections[1:] if any(worker.calls(section.node) for worker in workers)]
    if not entered or not all(section.node.wait or section.is_in_wait for section in entered):
        return None
    most_frequent = max(entered, key=lambda section: sum(worker.calls(section.node) for worker in workers))
    is_in_step = _are_in_step([worker.calls(most_frequent.node) for worker in workers])
    return most_frequent if is_in_step and not is_collective(most_frequent.node) else None


def _stragglers_between_waits(
    run: SectionView, section: SectionView, workers: Sequence[Worker]
) -> Iterator[Straggler]:
    calls = {worker: worker.calls(section.node) for worker in workers}
    took = {
        worker: rounded_ratio(max(0, worker.span_ns - amount(run.waited_ns, worker)), calls[worker])
        for worker in workers
        if worker.span_ns is not None
    }
    for worker, peers_ns in _slow_workers(took):
        if took[worker] < PLAIN_FACTOR * peers_ns:
            continue  # their work is unknown, and may differ
        yield _make_straggler(section, "between", worker, took, peers_ns, calls)


def _stragglers_at(section: SectionView, workers: Sequence[Worker]) -> Iterator[Straggler]:
    calls = {worker: worker.calls(section.node) for worker in workers}
    if section.node.wait:
        if _are_in_step(calls.values()):  # else not all of them take part
            waited = {
                worker: rounded_ratio(worker.total_ns(section.node), calls[worker]) for worker in workers
            }
            for worker, peers_ns in _late_arrivals(waited):
                yield _make_straggler(section, "wait", worker, waited, peers_ns, calls)
        return
    busy = {worker: busy_ns(worker, section) for worker in workers}
    per_call = {
        worker: rounded_ratio(busy[worker], calls[worker]) for worker in workers if calls[worker] >= MIN_CALLS
    }
    for worker, peers_ns in _slow_workers(per_call):
        yield _make_straggler(section, "call", worker, per_call, peers_ns, calls)
    totals = {worker: busy[worker] for worker in long_lived_workers(workers) if calls[worker]}
    for worker, peers_ns in _slow_workers(totals):
        yield _make_straggler(section, "total", worker, totals, peers_ns, calls)


def _are_in_step(calls: Collection[int]) -> bool:
    return min(calls) >= max(MIN_CALLS, (1 - IN_STEP_SHARE) * max(calls))


def busy_ns(worker: Worker, section: SectionView) -> int:
    """Return how long `worker` worked in a section; 0 if its tasks' concurrent waits exceed its time there."""
    return max(0, worker.total_ns(section.node) - amount(section.waited_ns, worker))


def comparable_groups(role: Role) -> list[list[Worker]]:
    """Return the groups of workers of `role` that can be compared: the equals of each run, two or more."""
    by_run: dict[str, list[Worker]] = {}
    for worker in role.equals:
        by_run.setdefault(worker.run, []).append(worker)
    return [workers for workers in by_run.values() if len(workers) > 1]


def long_lived_workers(workers: Sequence[Worker]) -> list[Worker]:
    """Return the workers that were present for about as long as the one with the longest life."""
    longest_ns = max((worker.span_ns or 0 for worker in workers), default=0)
    return [u for u in workers if u.span_ns is None or u.span_ns >= WHOLE_LIFE_SHARE * longest_ns]


def _weight(straggler: Straggler) -> float:
    """Return the weight of a straggler: longer calls explain more than more work does."""
    return straggler.excess_ns if straggler.measure == "call" else PRECISE_SHARE * straggler.excess_ns


def _make_straggler(
    section: SectionView,
    measure: Measure,
    worker: Worker,
    took: Mapping[Worker, int],
    peers_ns: int,
    calls: Mapping[Worker, int],
) -> Straggler:
    gap_ns = abs(took[worker] - peers_ns)
    return Straggler(
        worker=worker,
        path=section.path,
        main_path=section.path,
        measure=measure,
        peers=len(took) - 1,
        took_ns=took[worker],
        peers_took_ns=peers_ns,
        calls=calls[worker],
        peers_calls=round(median(calls[peer] for peer in took if peer != worker)),
        excess_ns=gap_ns if measure == "total" else gap_ns * calls[worker],
    )


def _slow_workers(took: Mapping[Worker, int]) -> Iterator[tuple[Worker, int]]:
    """Yield the workers that took longer than the others by more than these vary, with the others' median."""
    ordered = sorted(took.items(), key=lambda item: item[1])
    values = [ns for _, ns in ordered]
    # The median is smallest without the largest value: workers below its multiple need no check.
    min_median_ns = _median_without(values, len(values) - 1) if values else 0
    first = bisect_left(values, SLOWER_FACTOR * min_median_ns)
    for index, (worker, ns) in enumerate(ordered[first:], start=first):
        peers_ns = round(_median_without(values, index))
        if peers_ns <= 0 or ns < SLOWER_FACTOR * peers_ns:
            continue
        peer_times = values[:index] + values[index + 1 :]
        if len(peer_times) == 1:
            if ns >= PLAIN_FACTOR * peers_ns:
                yield worker, peers_ns
        elif ns > peers_ns + MAX_DEVIATIONS * median(abs(time - peers_ns) for time in peer_times):
            yield worker, peers_ns


def _median_without(values: Sequence[int], index: int) -> float:
    """Return the median of sorted `values` without the value at `index`: thousands of workers need no further sort."""
    count = len(values) - 1
    if not count:
        return 0.0
    middles = ((count - 1) // 2, count // 2)
    return sum(values[middle + (middle >= index)] for middle in middles) / 2


def _main_path(straggler: Straggler, section: SectionView, role: Role) -> str:
    """Return the path of the deepest node at or below `section` that has most of the straggler's excess."""
    if section.node.wait:
        return section.path
    peers = [
        worker for worker in role.equals if worker.run == straggler.worker.run and worker != straggler.worker
    ]
    while True:
        excess = [
            (_excess_ns(below, straggler, peers), below) for below in section.below if not below.node.wait
        ]
        max_ns, largest = max(excess, key=lambda item: item[0], default=(0, section))
        if max_ns < PRECISE_SHARE * straggler.excess_ns:
            return section.path
        section = largest


def _excess_ns(section: SectionView, straggler: Straggler, peers: Sequence[Worker]) -> int:
    """Return how much longer the straggler was in `section` than its peers, for as many calls of its slow node."""
    peers_ns = median(busy_ns(peer, section) for peer in peers)
    if straggler.measure == "call" and straggler.peers_calls:
        peers_ns = peers_ns * straggler.calls / straggler.peers_calls
    return round(busy_ns(straggler.worker, section) - peers_ns)
