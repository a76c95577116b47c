"""Import timers files of the ML-Agents toolkit.

History of the format: first `children` and `gauges` are lists of objects with a `name`; later both are objects by
name, and there is `metadata`. Times are seconds. `self` is the total less the children's, but at least zero: it is 0
if children ran in parallel. These timers have no count and no total: open ones, the root of a thread, and a forked
worker's copies of the timers that were open in its parent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ticktree.profile import MAX_DEPTH, ROOT_NAME, Gauge, Node, Profile, Stats
from ticktree.profile.fields import LIMIT, Fields, quoted
from ticktree.profile.measures import HOST, split_key
from ticktree.profile.metadata import Value
from ticktree.profile.table import sums_of

_NS_PER_SECOND = 1_000_000_000
# ticktree's names of the toolkit's facts; the exporter has the inverse.
_FACT_NAMES = {"command_line_arguments": "command", "python_version": "python"}
_EXPORTER_KEY, _LOSSES_KEY = "exported_by", "not_recorded"
_UNCOUNTED_LOSS = "timers_without_a_call"


def is_timers_file(value: Any) -> bool:
    """Tell whether `value`, read from JSON, is a timers file rather than a profile."""
    return isinstance(value, dict) and "schema" not in value and {"total", "count"} <= value.keys()


def profile_of(value: Any, run_id: str) -> Profile:
    """Return the profile in a timers file, which has no minima, maxima and percentiles of calls.

    Args:
        value: The file's JSON.
        run_id: The run's id in the profile.

    Raises:
        ProfileError: The file contradicts itself.
    """
    fields = Fields(value, "timers file")
    facts = fields.sub("metadata", "metadata")
    is_trusted = facts.raw(_EXPORTER_KEY) == "ticktree"
    root, losses = _read_tree(fields, run_id, is_trusted=is_trusted)
    written_s = facts.raw("end_time_seconds")
    wall_ns = int(written_s) * _NS_PER_SECOND if isinstance(written_s, str) and written_s.isdecimal() else 0
    profile = Profile(
        root=root,
        gauges={name: _read_gauge(name, gauge, wall_ns) for name, gauge in _items_by_name(fields, "gauges")},
        metadata={
            "name": frozenset({run_id}),
            **{key: frozenset({value}) for key, value in _read_metadata(facts)},
            "read_from": frozenset({"timers file"}),
        },
        losses=sums_of([losses, _read_losses(facts)]),
    )
    profile.check()
    return profile


@dataclass
class _Timer:
    """A timer while its tree is built."""

    fields: Fields
    name: str
    parent: _Timer | None
    depth: int
    is_parallel: bool
    children: dict[str, Node] = field(default_factory=dict)
    concurrent: set[str] = field(default_factory=set)  # children that ran concurrently
    uncounted_ns: int = 0  # total of its other children that are uncounted


def _read_tree(fields: Fields, run_id: str, *, is_trusted: bool) -> tuple[Node, dict[str, int]]:
    timers = [_Timer(fields, ROOT_NAME, None, 0, fields.flag("is_parallel"))]
    for timer in timers:  # breadth first: the list grows while it is walked
        if timer.depth > MAX_DEPTH:
            fields.fail(f"the tree is more than {MAX_DEPTH} timers deep")
        for name, child_fields in _items_by_name(timer.fields, "children"):
            is_parallel = timer.is_parallel or child_fields.flag("is_parallel")
            timers.append(_Timer(child_fields, name, timer, timer.depth + 1, is_parallel))
    losses: dict[str, int] = {}
    for timer in reversed(timers):
        node = _build_node(timer, run_id, losses, is_trusted=is_trusted)
        if timer.parent is not None:
            timer.parent.children[node.key] = node
            if timer.is_parallel and not timer.parent.is_parallel:
                timer.parent.concurrent.add(node.key)
            elif _is_uncounted(timer):
                timer.parent.uncounted_ns += node.total_ns
    return node, losses


def _build_node(timer: _Timer, run_id: str, losses: dict[str, int], *, is_trusted: bool) -> Node:
    fields = timer.fields
    total_ns, count = _read_ns(fields, "total"), fields.integer("count")
    if total_ns < 0 or count < 0:
        fields.fail("its total or its count is negative")
    self_ns = _read_ns(fields, "self") if "self" in fields else None
    if not is_trusted:
        if _is_uncounted(timer):
            # Only its children's times are known, and the file counts them as self time of its parent.
            total_ns, self_ns = sum(child.total_ns for child in timer.children.values()), None
            losses[_UNCOUNTED_LOSS] = losses.get(_UNCOUNTED_LOSS, 0) + 1
        elif self_ns is not None:
            self_ns -= min(self_ns, timer.uncounted_ns)
    times: BalancedTimes = balance(
        total_ns,
        self_ns,
        {key: child.total_ns for key, child in timer.children.items()},
        timer.concurrent,
        is_trusted=is_trusted,
    )
    if times.loss:
        losses[times.loss] = losses.get(times.loss, 0) + 1
    is_root = timer.parent is None
    call_count = 0 if is_root and count == 1 else count  # the root's one call is the run, not a call
    name, clock = split_key(timer.name) if is_trusted else (timer.name, HOST)
    return Node(
        name=name,
        clock=clock,
        self_ns=times.self_ns,
        steady=Stats(call_count, total_ns) if call_count else Stats(),
        per_run={run_id: (call_count, total_ns)} if call_count else {},
        children={
            key: replace(child, concurrent_ns=times.concurrent_ns.get(key, 0))
            for key, child in reversed(timer.children.items())
        },
    )


def _is_uncounted(timer: _Timer) -> bool:
    """Tell whether a timer with children has neither a call nor time."""
    return bool(timer.children) and timer.fields.integer("count") == _read_ns(timer.fields, "total") == 0


def _items_by_name(fields: Fields, key: str) -> Iterator[tuple[str, Fields]]:
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


def _read_ns(fields: Fields, key: str) -> int:
    ns = round(fields.number(key) * _NS_PER_SECOND)
    if not -LIMIT < ns < LIMIT:
        fields.fail(f"{key!r} is beyond anything that can be measured")
    return ns


def _read_gauge(name: str, fields: Fields, wall_ns: int) -> Gauge:
    value = fields.number("value")
    return Gauge(
        name=name,
        last=value,
        last_wall_ns=wall_ns,
        process="",
        count=fields.integer("count", 1),
        min=fields.number("min") if "min" in fields else value,
        max=fields.number("max") if "max" in fields else value,
    )


def _read_metadata(fields: Fields) -> Iterator[tuple[str, Value]]:
    for key in fields:
        value = fields.raw(key)
        if not isinstance(value, (str, int, float)) and value is not None:
            fields.fail(f"{quoted(key)} should be a string or a number")
        if value is not None and key not in (_EXPORTER_KEY, _LOSSES_KEY):
            yield _FACT_NAMES.get(key, key), value


def _read_losses(facts: Fields) -> dict[str, int]:
    """Return the losses that ticktree's exporter wrote."""
    text = facts.raw(_LOSSES_KEY)
    matches = re.findall(r"(\d{1,18}) (\w+)", text) if isinstance(text, str) else []
    return {loss: int(count) for count, loss in matches}


@dataclass(frozen=True)
class BalancedTimes:
    """A node's self time and its children's concurrent times, which sum to its total.

    Attributes:
        self_ns: its self time.
        concurrent_ns: of the children that have any, by name.
        loss: the name of the loss if the reported self time was wrong, else None.
    """

    self_ns: int
    concurrent_ns: Mapping[str, int] = field(default_factory=dict)
    loss: str | None = None


def balance(
    total_ns: int,
    self_ns: int | None,
    children_ns: Mapping[str, int],
    concurrent_keys: Collection[str],
    *,
    is_trusted: bool = False,
) -> BalancedTimes:
    """Return times that sum to a node's total. Children's time above their parent's becomes concurrent time.

    Every number was rounded, so differences up to the rounding error are ignored. Without a reported self time, it is
    the total less the children's. `concurrent_keys` are children known to have run concurrently. If `is_trusted`, the
    self time was measured, and not computed from the total or clipped at zero.
    """
    children_total_ns = sum(children_ns.values())
    rounding_ns = len(children_ns) + 2 + (max(total_ns, children_total_ns) >> 50)
    if self_ns is None:
        self_ns = max(0, total_ns - children_total_ns)
    loss = None
    if self_ns < -rounding_ns:
        loss = "negative_self_times"
    elif self_ns > total_ns + rounding_ns:
        loss = "self_times_that_do_not_add_up"
    self_ns = min(max(self_ns, 0), total_ns)
    excess_ns = self_ns + children_total_ns - total_ns
    if excess_ns < -rounding_ns:
        return BalancedTimes(total_ns - children_total_ns, loss=loss or "self_times_that_do_not_add_up")
    if excess_ns <= rounding_ns:
        return BalancedTimes(max(0, total_ns - children_total_ns), loss=loss)
    sequential_ns = sum(ns for name, ns in children_ns.items() if name not in concurrent_keys)
    if concurrent_keys and self_ns <= rounding_ns and not is_trusted and sequential_ns <= total_ns:
        # Concurrent children take none of the node's time; subtracting them is what made the self time 0.
        return BalancedTimes(
            total_ns - sequential_ns, {name: children_ns[name] for name in concurrent_keys}, loss
        )
    if (
        children_total_ns - sequential_ns < excess_ns and not is_trusted
    ):  # more than concurrent children explain
        loss = loss or ("self_times_that_do_not_add_up" if self_ns > rounding_ns else "negative_self_times")
    return BalancedTimes(self_ns, _share_excess(excess_ns, children_ns, concurrent_keys), loss)


def _share_excess(
    excess_ns: int, children_ns: Mapping[str, int], concurrent_keys: Collection[str]
) -> dict[str, int]:
    """Distribute `excess_ns` over the children: concurrent ones first, then the longest."""
    concurrent_ns: dict[str, int] = {}
    for name in sorted(children_ns, key=lambda name: (name not in concurrent_keys, -children_ns[name], name)):
        concurrent_ns[name] = min(excess_ns, children_ns[name])
        excess_ns -= concurrent_ns[name]
    return {name: ns for name, ns in concurrent_ns.items() if ns}
