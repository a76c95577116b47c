"""Timers files of the ML-Agents toolkit, read as profiles.

History of the format, as its releases wrote it: `children` a list of timers with a `name` each, `gauges` likewise;
later both are objects by name, and there is `metadata`. Times are seconds. `self` is the total less the children's,
but never below zero: where children ran in parallel it says 0. A timer that had not ended has no count and no total,
and so has the root of a thread, and what a worker has from its parent's timers by being forked inside of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ticktree.profile import MAX_DEPTH, ROOT_NAME, Gauge, Node, Profile, Stats
from ticktree.profile.fields import LIMIT, Fields, quoted
from ticktree.profile.measures import HOST, named_by
from ticktree.profile.metadata import Value
from ticktree.profile.table import sums_of

_SECOND = 1_000_000_000
# What ticktree calls facts that the toolkit has by other names; the inverse of what its export does.
_NAMES = {"command_line_arguments": "command", "python_version": "python"}
_EXPORTER, _LOST = "exported_by", "not_recorded"
_UNCOUNTED = "timers_without_a_call"


def is_timers_file(value: Any) -> bool:
    """Tell whether `value`, read from JSON, is such a file rather than a profile."""
    return isinstance(value, dict) and "schema" not in value and {"total", "count"} <= value.keys()


def profile_of(value: Any, run_id: str) -> Profile:
    """Return the profile that a timers file holds.

    Of what single calls took it says nothing: no minimum, no maximum and no percentile is known.

    Args:
        value: The file, as JSON has it.
        run_id: What the profile calls the run.

    Raises:
        ProfileError: It says what cannot be.
    """
    fields = Fields(value, "timers file")
    facts = fields.sub("metadata", "metadata")
    trusted = facts.raw(_EXPORTER) == "ticktree"
    root, losses = _tree(fields, run_id, trusted=trusted)
    written_s = facts.raw("end_time_seconds")
    wall_ns = int(written_s) * _SECOND if isinstance(written_s, str) and written_s.isdecimal() else 0
    profile = Profile(
        root=root,
        gauges={name: _gauge(name, gauge, wall_ns) for name, gauge in _named(fields, "gauges")},
        metadata={
            "name": frozenset({run_id}),
            **{key: frozenset({value}) for key, value in _metadata(facts)},
            "read_from": frozenset({"timers file"}),
        },
        losses=sums_of([losses, _losses(facts)]),
    )
    profile.check()
    return profile


@dataclass
class _Timer:
    """A timer while its tree is put together."""

    fields: Fields
    name: str
    above: _Timer | None
    depth: int
    is_parallel: bool
    children: dict[str, Node] = field(default_factory=dict)
    concurrent: set[str] = field(default_factory=set)  # children that ran concurrently
    untimed_ns: int = 0  # what its other children took without reporting it


def _tree(fields: Fields, run_id: str, *, trusted: bool) -> tuple[Node, dict[str, int]]:
    timers = [_Timer(fields, ROOT_NAME, None, 0, fields.flag("is_parallel"))]
    for timer in timers:  # breadth first: the list grows while it is walked
        if timer.depth > MAX_DEPTH:
            fields.fail(f"the tree is more than {MAX_DEPTH} timers deep")
        for name, below in _named(timer.fields, "children"):
            parallel = timer.is_parallel or below.flag("is_parallel")
            timers.append(_Timer(below, name, timer, timer.depth + 1, parallel))
    losses: dict[str, int] = {}
    for timer in reversed(timers):
        node = _node(timer, run_id, losses, trusted=trusted)
        if timer.above is not None:
            timer.above.children[node.key] = node
            if timer.is_parallel and not timer.above.is_parallel:
                timer.above.concurrent.add(node.key)
            elif _is_uncounted(timer):
                timer.above.untimed_ns += node.total_ns
    return node, losses


def _node(timer: _Timer, run_id: str, losses: dict[str, int], *, trusted: bool) -> Node:
    fields = timer.fields
    total_ns, count = _duration(fields, "total"), fields.whole("count")
    if total_ns < 0 or count < 0:
        fields.fail("its total or its count is negative")
    self_ns = _duration(fields, "self") if "self" in fields else None
    if not trusted:
        if _is_uncounted(timer):
            # What it took is known only by its children, whose time is then in the self time of what is
            # around it.
            total_ns, self_ns = sum(child.total_ns for child in timer.children.values()), None
            losses[_UNCOUNTED] = losses.get(_UNCOUNTED, 0) + 1
        elif self_ns is not None:
            self_ns -= min(self_ns, timer.untimed_ns)
    settled: Settled = settle(
        total_ns,
        self_ns,
        {key: child.total_ns for key, child in timer.children.items()},
        timer.concurrent,
        trusted=trusted,
    )
    if settled.wrong:
        losses[settled.wrong] = losses.get(settled.wrong, 0) + 1
    is_root = timer.above is None
    counted = 0 if is_root and count == 1 else count  # the root's one call is the run, which is no call here
    name, clock = named_by(timer.name) if trusted else (timer.name, HOST)
    return Node(
        name=name,
        clock=clock,
        self_ns=settled.self_ns,
        steady=Stats(counted, total_ns) if counted else Stats(),
        per_run={run_id: (counted, total_ns)} if counted else {},
        children={
            key: replace(child, concurrent_ns=settled.concurrent_ns.get(key, 0))
            for key, child in reversed(timer.children.items())
        },
    )


def _is_uncounted(timer: _Timer) -> bool:
    """Tell whether nothing was ever added to it, though there is something in it."""
    return bool(timer.children) and timer.fields.whole("count") == _duration(timer.fields, "total") == 0


def _named(fields: Fields, key: str) -> Iterator[tuple[str, Fields]]:
    """Yield the entries of a field by name, whether it is an object, a list of objects with names, or null."""
    value = fields.raw(key)
    if isinstance(value, dict):
        for name, entry in value.items():
            yield name, Fields(entry, quoted(name))
    elif isinstance(value, list):
        names = set()
        for entry in value:
            name = Fields(entry, f"{fields.where}: an entry of {key!r}").text("name")
            if name in names:
                fields.fail(f"{key!r} has {quoted(name)} twice")
            names.add(name)
            yield name, Fields(entry, quoted(name))
    elif value is not None:
        fields.fail(f"{key!r} should be an object, a list or null")


def _duration(fields: Fields, key: str) -> int:
    ns = round(fields.number(key) * _SECOND)
    if not -LIMIT < ns < LIMIT:
        fields.fail(f"{key!r} is beyond anything that can be measured")
    return ns


def _gauge(name: str, fields: Fields, wall_ns: int) -> Gauge:
    value = fields.number("value")
    return Gauge(
        name=name,
        last=value,
        last_wall_ns=wall_ns,
        writer="",
        count=fields.whole("count", 1),
        min=fields.number("min") if "min" in fields else value,
        max=fields.number("max") if "max" in fields else value,
    )


def _metadata(fields: Fields) -> Iterator[tuple[str, Value]]:
    for key in fields:
        value = fields.raw(key)
        if not isinstance(value, (str, int, float)) and value is not None:
            fields.fail(f"{quoted(key)} should be a string or a number")
        if value is not None and key not in (_EXPORTER, _LOST):
            yield _NAMES.get(key, key), value


def _losses(facts: Fields) -> dict[str, int]:
    """The losses that an export recorded."""
    lost = facts.raw(_LOST)
    found = re.findall(r"(\d{1,18}) (\w+)", lost) if isinstance(lost, str) else []
    return {what: int(count) for count, what in found}


@dataclass(frozen=True)
class Settled:
    """A node's self time and its children's concurrent times, such that its total is what it should be.

    Attributes:
        self_ns: its self time.
        concurrent_ns: of the children that have any, by name.
        wrong: what is wrong with the self time that was given, as a loss is called; None where nothing is.
    """

    self_ns: int
    concurrent_ns: Mapping[str, int] = field(default_factory=dict)
    wrong: str | None = None


def settle(
    total_ns: int,
    self_ns: int | None,
    children_ns: Mapping[str, int],
    concurrent: Collection[str],
    *,
    trusted: bool = False,
) -> Settled:
    """Settle a node's account. A child's time above its parent's becomes concurrent time.

    All numbers were rounded one by one: what differs by no more than that differs by nothing. Without a self time that
    the node reports, it is what is left of the total. `concurrent` are children known to have run concurrently.
    If `trusted`, the self time was measured, and is not what is left of the total or of a negative number.
    """
    together_ns = sum(children_ns.values())
    rounding_ns = len(children_ns) + 2 + (max(total_ns, together_ns) >> 50)
    if self_ns is None:
        self_ns = max(0, total_ns - together_ns)
    wrong = None
    if self_ns < -rounding_ns:
        wrong = "negative_self_times"
    elif self_ns > total_ns + rounding_ns:
        wrong = "self_times_that_do_not_add_up"
    self_ns = min(max(self_ns, 0), total_ns)
    over_ns = self_ns + together_ns - total_ns
    if over_ns < -rounding_ns:
        return Settled(total_ns - together_ns, wrong=wrong or "self_times_that_do_not_add_up")
    if over_ns <= rounding_ns:
        return Settled(max(0, total_ns - together_ns), wrong=wrong)
    covering_ns = sum(ns for name, ns in children_ns.items() if name not in concurrent)
    if concurrent and self_ns <= rounding_ns and not trusted and covering_ns <= total_ns:
        # Other processes and threads take nothing of the node's time; that they did is what made it 0.
        return Settled(total_ns - covering_ns, {name: children_ns[name] for name in concurrent}, wrong)
    if together_ns - covering_ns < over_ns and not trusted:  # more than concurrent children explain
        wrong = wrong or ("self_times_that_do_not_add_up" if self_ns > rounding_ns else "negative_self_times")
    return Settled(self_ns, _shared(over_ns, children_ns, concurrent), wrong)


def _shared(over_ns: int, children_ns: Mapping[str, int], concurrent: Collection[str]) -> dict[str, int]:
    """Return whose time `over_ns` is: that of concurrent children first, then of the longest."""
    concurrent_ns: dict[str, int] = {}
    for name in sorted(children_ns, key=lambda name: (name not in concurrent, -children_ns[name], name)):
        concurrent_ns[name] = min(over_ns, children_ns[name])
        over_ns -= concurrent_ns[name]
    return {name: ns for name, ns in concurrent_ns.items() if ns}
