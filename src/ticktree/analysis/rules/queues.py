"""Rules about queues: loops that wait to take or put items, and gauges of queues that are empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Finding, severity_of
from ticktree.analysis.loops import SectionView
from ticktree.analysis.machine import Machine, is_contended
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.sampled import DOMINANT_SHARE, dominant_line, sampled_threads
from ticktree.analysis.workers.roles import Role
from ticktree.analysis.workers.stragglers import MIN_CALLS
from ticktree.analysis.workers.waits import Cause, outer_waits
from ticktree.profile import Gauge
from ticktree.profile import path as paths

# More than one tick in a hundred without an item shows in a loop's p99.
EMPTY_SHARE = 0.01
# The queue must have been empty this often, as a straggler must have had this many calls.
MIN_ZEROS = MIN_CALLS

# Words in names of gauges that count waiting items.
_OF_QUEUES = frozenset({"queue", "queues", "depth", "buffer", "buffers", "backlog"})
# Words in names of other gauges: times, rates and losses of queues; or pictures.
_OF_TIMES = frozenset(
    {"age", "ages", "delay", "duration", "latency", "time", "ns", "us", "ms", "s", "sec", "seconds"}
)
_OF_WAITS = frozenset({"wait", "waited", "waiting", "waits"})
_OF_LOSSES = frozenset(
    {"drop", "dropped", "drops", "error", "errors", "full", "lost", "overflow", "overflows"}
)
_OF_OTHERS = _OF_TIMES | _OF_WAITS | _OF_LOSSES | {"hz", "rate", "camera", "image", "images", "map"}

# The sections of instruments that take an item from a queue, and that put one into it.
_GETS = frozenset({"Queue.get", "SimpleQueue.get"})
_PUTS = frozenset({"Queue.put"})
# With a shorter wait for items, a loop mostly works, and a further producer is a change of the program's structure.
# Our own choice.
MIN_QUEUE_SHARE = 0.25
# A role that ended a smaller share of the waits may not be the one that matters.
ENDED_SHARE = 0.5
# A producer that waits for half of its life has time to spare: the loop does not wait for its work.
BUSY_SHARE = 0.5


class QueueWait(NamedTuple):
    """A wait of a main loop at a queue.

    Attributes:
        section: the section in which it waits.
        peer: the role that puts the items, or takes them if the loop waits to put some.
        ended_share: the share of the waits that the peer ended.
        blocked_share: the share of their lives that the peer's workers wait at queues, too.
        hotspot: the section or function in which the peer spends its time, and a line if that was sampled; None if
            unknown.
    """

    section: SectionView
    peer: Role
    ended_share: float
    blocked_share: float
    hotspot: tuple[str, str | None] | None

    @property
    def is_full(self) -> bool:
        """Whether the loop waits to put an item, not to take one."""
        return self.section.name in _PUTS

    @property
    def is_passing(self) -> bool:
        """Whether both sides wait: passing items from one to the other takes the time."""
        return self.blocked_share > BUSY_SHARE

    def finding(self, rule: str) -> Finding:
        """Return the finding that the loop could do without the wait."""
        path, view = self.section.path, self.section.view
        share = view.share(self.section.total_ns)
        function, line = self.hotspot if self.hotspot is not None and not self.is_passing else (None, None)
        facts: Facts = {
            "role": self.peer.name,
            "section": path,
            "waited_per_tick_ns": round(self.section.total_ns),
            "waited_share": share,
            "for_them_share": self.ended_share,
            "blocked_share": self.blocked_share,
            "function": function,
            "line": line,
        }
        return finding(rule, path, facts, Claim(share, view.path))


def queue_waits(context: Context) -> Iterator[QueueWait]:
    """Yield the waits of the main loops at queues, each with the role whose workers end most of them.

    Workers that wait for something else for most of their lives are left out.
    """
    for view in context.main_loops:
        loop_threads = set(view.sections[0].node.by_thread)
        for section in view.sections:
            if section.name not in _GETS | _PUTS or not section.is_wait or section.is_parallel:
                continue
            if view.share(section.total_ns) < MIN_QUEUE_SHARE or section.count < MIN_CALLS:
                continue
            opposite = _PUTS if section.name in _GETS else _GETS
            for peer, cause, waited_ns in _wakers(section, loop_threads, context):
                lives_ns = sum(map(context.life_ns, peer.workers))
                at_queues_ns, elsewhere_ns = _waits_ns(peer, opposite, context)
                ended_share = min(1.0, cause.wakes.waited_ns / waited_ns)
                if lives_ns and ended_share >= ENDED_SHARE and elsewhere_ns <= BUSY_SHARE * lives_ns:
                    blocked_share = at_queues_ns / lives_ns
                    yield QueueWait(section, peer, ended_share, blocked_share, _hotspot(peer, context))


def _wakers(section: SectionView, threads: set[str], context: Context) -> Iterator[tuple[Role, Cause, int]]:
    """Yield the role that ended most of the waits of the loop's threads there, and how long they waited."""
    for role in context.threads:
        if threads.isdisjoint(role.threads):
            continue
        for wait in outer_waits(role, context):
            if wait.path == section.path and wait.causes:
                cause = wait.causes[0]
                waker = next((peer for peer in context.threads if peer.name == cause.role), None)
                if waker is not None and waker is not role:
                    yield waker, cause, wait.waited_ns


def _waits_ns(role: Role, names: frozenset[str], context: Context) -> tuple[int, int]:
    """Return how long the workers of a role waited at sections of these names, and at other sections."""
    waits = outer_waits(role, context)
    named_ns = sum(wait.waited_ns for wait in waits if paths.name_of(wait.path) in names)
    return named_ns, sum(wait.waited_ns for wait in waits) - named_ns


def _hotspot(role: Role, context: Context) -> tuple[str, str | None] | None:
    """Return the section with most of a role's time, else the sampled function with the most and its hottest line."""
    self_ns_by_name = {
        section.name: sum(node.self_ns for id_, node in section.node.by_thread.items() if id_ in role.threads)
        for section in context.run.sections[1:]
        if not section.is_wait
    }
    longest = max(self_ns_by_name, key=lambda name: (self_ns_by_name[name], name), default=None)
    min_ns = DOMINANT_SHARE * sum(map(context.life_ns, role.workers))
    if longest is not None and self_ns_by_name[longest] >= min_ns > 0:
        return longest, None
    times = sampled_threads(context.profile)
    line = dominant_line({stack: weight for time in times.values() for stack, weight in time.stacks.items()})
    return None if line is None else (line.function, line.place)


class StarvedRule:
    """A queue is empty when its consumer needs an item.

    Finds each main loop that waits at a queue for workers that are busy, and each gauge that is a queue's depth and is
    0 too often; see docs/rules/starved.md.
    """

    name: ClassVar[str] = "starved"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such wait, then for each gauge that was 0 too often, the emptiest first."""
        yield from _findings(self.name, context, is_full=False)
        # A gauge that is always 0 belongs to a queue that is not used, unless the loop waits for it.
        is_awaited = any(view.busy_ns < (1 - BUSY_SHARE) * view.tick_ns for view in context.main_loops)
        empty = [
            gauge
            for gauge in context.profile.gauges.values()
            if is_depth(gauge) and _is_empty(gauge) and (gauge.max > 0 or is_awaited)
        ]
        for gauge in sorted(empty, key=lambda gauge: (-_empty_share(gauge), gauge.name)):
            share = _empty_share(gauge)
            zeros, count = gauge.since_filled
            facts: Facts = {
                "gauge": gauge.name,
                "empty_share": share,
                "readings_at_0": zeros,
                "readings": count,
                "max_reading": gauge.max,
            }
            yield finding(self.name, "", facts, severity=severity_of(share))


class FullQueueRule:
    """A loop waits until a queue has room, because workers take its items too slowly.

    Finds each main loop that waits in this way for a quarter of its tick; see docs/rules/full-queue.md.
    """

    name: ClassVar[str] = "full-queue"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such wait."""
        return _findings(self.name, context, is_full=True)


def _findings(rule: str, context: Context, *, is_full: bool) -> Iterator[Finding]:
    """Yield a finding for each wait to put an item, or to take one, whose other side does not wait as well."""
    if is_contended(Machine(context.profile)):  # then the other side may wait for cores
        return
    for wait in queue_waits(context):
        if wait.is_full is is_full and not wait.is_passing:
            yield wait.finding(rule)


def is_depth(gauge: Gauge) -> bool:
    """Return whether a gauge counts the items of a queue, by its name."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", gauge.name)
    words = set(re.findall(r"[a-z]+", spaced.lower()))
    return not words.isdisjoint(_OF_QUEUES) and words.isdisjoint(_OF_OTHERS)


def _is_empty(gauge: Gauge) -> bool:
    return gauge.min >= 0 and gauge.since_filled[0] >= MIN_ZEROS and _empty_share(gauge) > EMPTY_SHARE


def _empty_share(gauge: Gauge) -> float:
    zeros, count = gauge.since_filled
    return zeros / count
