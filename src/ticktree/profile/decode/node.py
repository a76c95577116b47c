"""The tree from the objects JSON knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ticktree.profile import path as paths
from ticktree.profile.clock import CLOCKS, HOST, Clock, key_of
from ticktree.profile.decode.stats import stats_from, windows_from
from ticktree.profile.decode.writer import shares_from, wakers_from
from ticktree.profile.errors import quoted
from ticktree.profile.fields import Fields
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Work
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.windows import Windows


def tree_from(value: Any, writers: Sequence[str]) -> Node:
    """Return the tree in `value`; `writers` are the ids that it names by their place in the list."""
    # Nodes are opened from the root down, then built from the leaves up.
    opened = [(_opened(value, None), -1, 0)]
    for place, (fields, _, depth) in enumerate(opened):  # breadth first: the list grows while it is walked
        if depth > MAX_DEPTH:
            fields.fail(f"the tree is more than {MAX_DEPTH} nodes deep")
        below = fields.list("children")
        opened.extend((_opened(child, fields.text("path")), place, depth + 1) for child in below)
    children: list[dict[str, Node]] = [{} for _ in opened]
    for fields, parent, _ in reversed(opened[1:]):
        node = _node(fields, children.pop(), writers)
        if node.key in children[parent]:
            fields.fail("there are two nodes of this name here")
        children[parent][node.key] = node
    return _node(opened[0][0], children[0], writers)


def _opened(value: Any, parent: str | None) -> Fields:
    """Return the fields of a node whose parent has the path `parent`; None for the root."""
    fields = Fields(value, "tree")
    path = paths.ROOT if parent is None else paths.child(parent, _key(fields))
    fields.where = f"node {quoted(path)}"
    if fields.text("path") != path:
        fields.fail("its path is another than its place in the tree")
    return fields


def _node(fields: Fields, children: dict[str, Node], writers: Sequence[str]) -> Node:
    stats = stats_from(fields)
    phases = [stats_from(fields.sub(phase)) if phase in fields else None for phase in ("steady", "warmup")]
    node = Node(
        name=fields.text("name"),
        clock=_clock(fields),
        self_ns=fields.whole("self_ns"),
        concurrent_ns=fields.whole("concurrent_ns"),
        steady=phases[0] or stats,
        warmup=phases[1],
        windows=windows_from(fields.sub("windows")) if "windows" in fields else Windows(),
        wait=fields.flag("wait"),
        call_sites=_call_sites(fields),
        work=_work(fields.sub("work")) if "work" in fields else None,
        cpu=_cpu(fields.sub("cpu")) if "cpu" in fields else None,
        memory=_memory(fields.sub("memory")) if "memory" in fields else None,
        device_memory=_memory(fields.sub("device_memory")) if "device_memory" in fields else None,
        device=_device(fields),
        open=_open(fields.sub("open")) if "open" in fields else None,
        recorder_ns=fields.whole("recorder_ns", 0),
        raised=fields.whole("raised", 0),
        per_run=_per_run(fields.sub("per_run")),
        by_writer=shares_from(fields, writers),
        wakers=wakers_from(fields, writers),
        children=dict(reversed(children.items())),
    )
    if node.stats != stats:
        fields.fail("its calls are not those of its warm-up and its steady phase together")
    if node.total_ns != fields.whole("total_ns"):
        fields.fail(f"the accounts do not add up: 'total_ns' should be {node.total_ns}")
    return node


def _key(fields: Fields) -> str:
    return key_of(fields.text("name"), _clock(fields))


def _clock(fields: Fields) -> Clock:
    value = fields.raw("clock")
    clock: Clock | None = HOST if value is None else next((each for each in CLOCKS if each == value), None)
    if clock is None:
        fields.fail(f"'clock' should be one of {', '.join(CLOCKS)}")
    return clock


def _device(fields: Fields) -> str | None:
    """Return why device time is unsupported; the field was that text before there was any device time."""
    if isinstance(fields.raw("device"), str):
        return fields.text("device").removeprefix("unsupported: ")
    reason = fields.sub("device")
    return reason.text("unsupported") if "unsupported" in reason else None


def _call_sites(fields: Fields) -> dict[CallSite, int]:
    sites: dict[CallSite, int] = {}
    for value in fields.list("call_sites"):
        entry = Fields(value, f"{fields.where}: 'call_sites'")
        site = CallSite(entry.text("file"), entry.whole("line"), entry.text("function"))
        if site in sites:
            entry.fail("the same line is there twice")
        sites[site] = entry.whole("count")
    return sites


def _per_run(fields: Fields) -> dict[str, tuple[int, int]]:
    runs: dict[str, tuple[int, int]] = {}
    for run in fields:
        entry = fields.list(run)
        if list(map(type, entry)) != [int, int]:
            fields.fail("should hold two whole numbers a run")
        runs[run] = (entry[0], entry[1])
    return runs


def _work(fields: Fields) -> Work:
    return Work(fields.whole("bytes", 0), fields.whole("flops", 0), fields.whole("items", 0))


def _cpu(fields: Fields) -> Cpu:
    return Cpu(fields.whole("samples"), fields.whole("cpu_ns"), fields.whole("wall_ns"))


def _memory(fields: Fields) -> Memory:
    return Memory(
        fields.whole("samples"),
        fields.whole("change_bytes"),
        fields.whole("peak_bytes"),
        fields.whole_or_none("growth_bytes"),
        fields.flag("exact"),
        frozenset(fields.texts("devices")),
    )


def _open(fields: Fields) -> Open:
    return Open(fields.whole("count"), fields.whole("age_ns"))
