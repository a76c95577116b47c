"""Rules about locks: workers that queue for a lock, and loops that wait for a lock or for the interpreter (GIL)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import WARNING_SHARE, Claim, Finding, severity_of
from ticktree.analysis.machine import Machine
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.rules.lines import is_hot, line_finding
from ticktree.analysis.sampled import dominant_line_elsewhere, interval, sampled_times
from ticktree.analysis.workers.stragglers import MIN_CALLS
from ticktree.analysis.workers.waits import Waiting, claim_of, outer_waits
from ticktree.profile.noted_lines import LOCK
from ticktree.profile.samples import MIN_SAMPLES
from ticktree.profile.table import sums_of

# Of n workers that share a lock and do nothing else, all but one wait at any time; if they spend as much time without
# the lock as with it, all but two. Two workers are not a queue. Our own choice.
CONVOY_WORKERS = 3
CONVOY_OUTSIDE = 2
# Their peers ended at least this share of the waits.
CONVOY_KNOWN_SHARE = 0.5
# The share of a tick for which it pays to move a thread to another process. Our own choice.
MIN_GIL_SHARE = WARNING_SHARE
# A generator expression or a lambda cannot be moved, but the function around it can.
_NAMELESS = re.compile(r"(\.<locals>)?\.<(genexpr|lambda|\w+comp)>")
_LOCKS = re.compile(r"(?:^|[\W_])lock(?:$|[\W_])", re.IGNORECASE)


class LockConvoyRule:
    """Workers queue for one lock, because they do little without it, or a loop waits for a lock in its ticks.

    Finds each lock for which all but two of a role's workers wait at any moment, and each section of a main loop in
    which samples show waits for a lock; see docs/rules/lock-convoy.md.
    """

    name: ClassVar[str] = "lock-convoy"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such section, then for each such wait, the longest of each role first."""
        yield from _waits_in_samples(context)
        for role in context.threads:
            for wait in outer_waits(role, context):
                if is_convoy(wait, context):
                    facts: Facts = {
                        "role": role.name,
                        "workers": wait.count,
                        "waiting_workers": _waiting_workers(wait, context),
                        "waits": wait.calls,
                        "waited_ns": wait.waited_ns,
                        "for_peers_share": min(1.0, sum(_waited_ns_by_peer(wait).values()) / wait.waited_ns),
                    }
                    claim = _convoy_claim(wait, context)
                    severity = severity_of(wait.waited_ns / _lives_ns(wait, context))
                    yield finding(self.name, wait.path, facts, claim, severity=severity)


def _waits_in_samples(context: Context) -> Iterator[Finding]:
    """Yield a finding for each section of a main loop whose self time is a wait for a `threading.Lock`.

    Such a lock cannot be wrapped. Samples show that the thread waits, and the program's source that it is for a lock.
    """
    samples = context.profile.samples
    if samples is None or samples.is_late:
        return
    for time in context.line_times:
        if time.kind == LOCK and not time.section.view.is_run and is_hot(time):
            yield line_finding("lock-convoy", time, time.ns)


def is_convoy(wait: Waiting, context: Context) -> bool:
    """Return whether these workers queue for a lock that they pass to one another."""
    peers = _waited_ns_by_peer(wait)
    return (
        wait.count == len(wait.by_worker) >= CONVOY_WORKERS
        and wait.calls >= MIN_CALLS * wait.count
        and len(peers) >= wait.count - 1  # otherwise there are several locks
        and sum(peers.values()) >= CONVOY_KNOWN_SHARE * wait.waited_ns
        and _waiting_workers(wait, context) >= wait.count - CONVOY_OUTSIDE
    )


def _waited_ns_by_peer(wait: Waiting) -> Mapping[str, int]:
    """Return how much of these waits each worker of the same role ended by releasing a lock."""
    return sums_of(
        dict(cause.by)
        for cause in wait.causes
        if cause.role == wait.role.name and any(map(_LOCKS.search, cause.channels))
    )


def _waiting_workers(wait: Waiting, context: Context) -> float:
    """Return the mean number of workers that wait for the lock."""
    lives_ns = _lives_ns(wait, context)
    return wait.count * wait.waited_ns / lives_ns if lives_ns else 0.0


def _lives_ns(wait: Waiting, context: Context) -> int:
    return sum(context.life_ns(worker) for worker, _ in wait.by_worker)


def _convoy_claim(wait: Waiting, context: Context) -> Claim | None:
    """Return how much shorter each tick would be without these waits; no more than the cores allow."""
    claim = claim_of(wait, context)
    view = context.loop_of(claim)
    if claim is None or view is None:
        return None
    processes = {thread.partition("/")[0] for worker, _ in wait.by_worker for thread in worker.threads}
    # Threads of a process share its interpreter.
    cores = min(Machine(context.profile).cores or 1, len(processes))
    free_ns = view.busy_ns * max(1.0, wait.count / cores)
    return Claim(min(claim.share, view.share(max(0.0, view.tick_ns - free_ns))), claim.path)


class GilRule:
    """A loop waits for the interpreter, which another thread's Python code holds.

    Finds each main loop whose samples show that it waits for the GIL; see docs/rules/gil.md.
    """

    name: ClassVar[str] = "gil"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop, with the function of other threads that runs most."""
        samples, times = context.profile.samples, sampled_times(context.profile)
        if samples is None or samples.is_late:
            return
        for view in context.main_loops:
            waited_ns = surely_ns = 0.0
            for section in view.sections:
                sampled = times.get(section.path)
                if sampled is not None and not section.is_parallel and sampled.count >= MIN_SAMPLES:
                    share = sampled.states().get("gil", 0.0)
                    waited_ns += share * section.self_ns
                    surely_ns += interval(share, sampled.count)[0] * section.self_ns
            holder = dominant_line_elsewhere(samples, {section.path for section in view.sections})
            if holder is not None and view.share(surely_ns) >= MIN_GIL_SHARE:
                facts: Facts = {
                    "function": _NAMELESS.sub("", holder.function).replace(".<locals>", ""),
                    "line": holder.place,
                    "waited_share": view.share(waited_ns),
                    "waited_per_tick_ns": round(waited_ns),
                }
                yield finding(self.name, view.path, facts, Claim(view.share(waited_ns), view.path))
