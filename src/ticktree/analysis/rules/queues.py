"""Rules about queues: a loop that waits at one for items, and gauges of queues that are empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Fact, Finding, severity_of
from ticktree.analysis.loops import SectionView
from ticktree.analysis.machine import Machine, is_contended
from ticktree.analysis.sampled import MOST_SHARE, most_of, sampled_apart
from ticktree.analysis.workers.roles import Role
from ticktree.analysis.workers.stragglers import LEAST_CALLS
from ticktree.analysis.workers.waits import Cause, outer_waits
from ticktree.profile import Gauge
from ticktree.profile import path as paths

# One tick in a hundred without anything to act on is as many as a loop's p99 hides.
EMPTY_SHARE = 0.01
# The queue must have been empty this often: as for the calls of a straggler.
LEAST_EMPTY = LEAST_CALLS

# Words in names of gauges that count waiting items,
_OF_QUEUES = frozenset({"queue", "queues", "depth", "buffer", "buffers", "backlog"})
# and words in names of other gauges of a queue: how long, how often, what was lost; or a picture.
_OF_TIMES = frozenset(
    {"age", "ages", "delay", "duration", "latency", "time", "ns", "us", "ms", "s", "sec", "seconds"}
)
_OF_WAITS = frozenset({"wait", "waited", "waiting", "waits"})
_OF_LOSSES = frozenset(
    {"drop", "dropped", "drops", "error", "errors", "full", "lost", "overflow", "overflows"}
)
_OF_OTHERS = _OF_TIMES | _OF_WAITS | _OF_LOSSES | {"hz", "rate", "camera", "image", "images", "map"}

# What takes an item from a queue, and what puts one into it, as instruments call them.
_GETS = frozenset({"Queue.get", "SimpleQueue.get"})
_PUTS = frozenset({"Queue.put"})
# A loop that waits for items for less of a tick works more than it waits, and another producer is a change of the
# program's structure. Our own choice.
LEAST_QUEUE_SHARE = 0.25
# A role ended this share of the waits, or it is not known which does.
OTHER_SHARE = 0.5
# A producer that waits for half of its life has time to spare: it is not what the loop waits for.
BUSY_SHARE = 0.5


class QueueWait(NamedTuple):
    """A wait of a main loop for items of a queue.

    Attributes:
        section: where it waits.
        other: the role that puts the items; that takes them where the loop waits to put some.
        known_share: the part of the waits that it ended.
        blocked_share: the part of their lives that its workers wait at queues, too.
        where: what it spends its time in, and the line where that is sampled; None if it is not known.
    """

    section: SectionView
    other: Role
    known_share: float
    blocked_share: float
    where: tuple[str, str | None] | None

    @property
    def is_full(self) -> bool:
        """Whether it waits to put an item, not to take one."""
        return self.section.name in _PUTS

    @property
    def is_passing(self) -> bool:
        """Whether both sides wait, so that the time goes into passing items from one to the other."""
        return self.blocked_share > BUSY_SHARE

    def finding(self, rule: str) -> Finding:
        """Return the finding that the loop could do without the wait."""
        view = self.section.view
        facts: dict[str, Fact] = {
            "role": self.other.name,
            "section": self.section.path,
            "waited_per_tick_ns": round(self.section.total_ns),
            "waited_share": view.share(self.section.total_ns),
            "for_them_share": self.known_share,
            "blocked_share": self.blocked_share,
        }
        if self.where is not None and not self.is_passing:
            function, line = self.where
            facts |= {"function": function} | ({} if line is None else {"line": line})
        claim = Claim(view.share(self.section.total_ns), view.path)
        return Finding(rule=rule, claim=claim, path=self.section.path, facts=facts)


def queue_waits(context: Context) -> Iterator[QueueWait]:
    """Yield the waits of the main loops at queues, each with the role whose workers end most of them.

    Left out are workers that wait for something else for most of their lives.
    """
    for view in context.main_loops:
        own = set(view.sections[0].node.by_writer)
        for section in view.sections:
            if section.name not in _GETS | _PUTS or not section.is_wait or section.is_parallel:
                continue
            if view.share(section.total_ns) < LEAST_QUEUE_SHARE or section.count < LEAST_CALLS:
                continue
            opposite = _PUTS if section.name in _GETS else _GETS
            for role, cause, waited_ns in _others_at(section, own, context):
                lives_ns = sum(map(context.life_ns, role.units))
                there_ns, elsewhere_ns = _waits_of(role, opposite, context)
                known_share = min(1.0, cause.wakes.waited_ns / waited_ns)
                if lives_ns and known_share >= OTHER_SHARE and elsewhere_ns <= BUSY_SHARE * lives_ns:
                    yield QueueWait(section, role, known_share, there_ns / lives_ns, _where(role, context))


def _others_at(section: SectionView, own: set[str], context: Context) -> Iterator[tuple[Role, Cause, int]]:
    """Yield the role that ended most of the waits of the loop's threads there, and how long they waited."""
    for role in context.threads:
        if own.isdisjoint(role.writers):
            continue
        for wait in outer_waits(role, context):
            if wait.path == section.path and wait.causes:
                cause = wait.causes[0]
                of = next((each for each in context.threads if each.name == cause.role), None)
                if of is not None and of is not role:
                    yield of, cause, wait.waited_ns


def _waits_of(role: Role, names: frozenset[str], context: Context) -> tuple[int, int]:
    """Return how long the workers of a role waited at sections of these names, and at others."""
    waits = outer_waits(role, context)
    there_ns = sum(wait.waited_ns for wait in waits if paths.name_of(wait.path) in names)
    return there_ns, sum(wait.waited_ns for wait in waits) - there_ns


def _where(role: Role, context: Context) -> tuple[str, str | None] | None:
    """Return what a role spends most of its time in: a section, or else a sampled function and its hottest line."""
    spent = {
        section.name: sum(node.self_ns for who, node in section.node.by_writer.items() if who in role.writers)
        for section in context.run.sections[1:]
        if not section.is_wait
    }
    longest = max(spent, key=lambda name: (spent[name], name), default=None)
    least_ns = MOST_SHARE * sum(map(context.life_ns, role.units))
    if longest is not None and spent[longest] >= least_ns > 0:
        return longest, None
    apart = sampled_apart(context.profile)
    line = most_of({stack: weight for time in apart.values() for stack, weight in time.stacks.items()})
    return None if line is None else (line.function, line.place)


class StarvedRule:
    """A queue is empty when its consumer needs an item.

    Finds each main loop that waits at a queue for workers that are busy, and each gauge that is a queue's depth and is
    0 too often; see docs/rules/starved.md.
    """

    name: ClassVar[str] = "starved"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such wait, then for each gauge that was 0 too often, the emptiest first."""
        if not is_contended(Machine(context.profile)):  # then producers may wait for cores
            for wait in queue_waits(context):
                if not wait.is_passing and not wait.is_full:
                    yield wait.finding(self.name)
        # A gauge that is always 0 is of a queue that is not in use, unless the loop waits for it.
        is_awaited = any(view.busy_ns < (1 - BUSY_SHARE) * view.tick_ns for view in context.main_loops)
        empty = [
            gauge
            for gauge in context.profile.gauges.values()
            if is_depth(gauge) and _is_empty(gauge) and (gauge.max > 0 or is_awaited)
        ]
        for gauge in sorted(empty, key=lambda gauge: (-_empty_share(gauge), gauge.name)):
            share = _empty_share(gauge)
            zeros, count = gauge.since_filled
            yield Finding(
                rule=self.name,
                severity=severity_of(share),
                path="",
                facts={
                    "gauge": gauge.name,
                    "empty_share": share,
                    "readings_at_0": zeros,
                    "readings": count,
                    "max_reading": gauge.max,
                },
            )


class FullQueueRule:
    """A loop waits until there is room in a queue, for workers that take its items too slowly.

    Finds each main loop that waits so for a quarter of its tick; see docs/rules/full-queue.md.
    """

    name: ClassVar[str] = "full-queue"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such wait."""
        if not is_contended(Machine(context.profile)):  # then consumers may wait for cores
            for wait in queue_waits(context):
                if not wait.is_passing and wait.is_full:
                    yield wait.finding(self.name)


def is_depth(gauge: Gauge) -> bool:
    """Return whether a gauge's name is that of a queue's depth."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", gauge.name)
    words = set(re.findall(r"[a-z]+", spaced.lower()))
    return not words.isdisjoint(_OF_QUEUES) and words.isdisjoint(_OF_OTHERS)


def _is_empty(gauge: Gauge) -> bool:
    return gauge.min >= 0 and gauge.since_filled[0] >= LEAST_EMPTY and _empty_share(gauge) > EMPTY_SHARE


def _empty_share(gauge: Gauge) -> float:
    zeros, count = gauge.since_filled
    return zeros / count
