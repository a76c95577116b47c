"""The model from the objects JSON knows.

Nothing is taken on trust: every type is checked, and what is stored twice must agree.
"""

from __future__ import annotations

from typing import Any

from ticktree.profile import path as paths
from ticktree.profile.errors import quoted
from ticktree.profile.fields import LIMIT, Fields
from ticktree.profile.gauge import Gauge
from ticktree.profile.histogram import BUCKETS_PER_OCTAVE, Histogram
from ticktree.profile.loop import Jitter, Lateness, Loop
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Work
from ticktree.profile.metadata import Metadata, Value
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.profile import Profile
from ticktree.profile.stats import Stats
from ticktree.profile.ticks import FirstTicks, WorstTick
from ticktree.profile.windows import Windows

# Durations start at 1 ns; gauges are any double but 0, the least of which is 2**-1074.
_DURATIONS = (0, 96 * BUCKETS_PER_OCTAVE - 1)
_READINGS = (-1074 * BUCKETS_PER_OCTAVE, 1024 * BUCKETS_PER_OCTAVE - 1)


def profile_from(fields: Fields) -> Profile:
    """Return the profile in `fields`, the outermost object."""
    loops: dict[str, Loop] = {}
    for value in fields.list("loops"):
        loop = _loop(Fields(value, "loop"))
        if loop.path in loops:
            fields.fail(f"the loop {quoted(loop.path)} is there twice")
        loops[loop.path] = loop
    gauges = fields.sub("gauges", "gauges")
    return Profile(
        root=_tree(fields.raw("tree")),
        loops=loops,
        gauges={name: _gauge(name, gauges.sub(name, f"gauge {quoted(name)}")) for name in gauges},
        metadata=_metadata(fields.sub("metadata", "metadata")),
        losses=fields.counts("losses"),
    )


def _tree(value: Any) -> Node:
    """Return the tree in `value`: nodes are opened from the root down, then built from the leaves up."""
    opened = [(_opened(value, None), -1, 0)]
    for place, (fields, _, depth) in enumerate(opened):  # breadth first: the list grows while it is walked
        if depth > MAX_DEPTH:
            fields.fail(f"the tree is more than {MAX_DEPTH} nodes deep")
        below = fields.list("children")
        opened.extend((_opened(child, fields.text("path")), place, depth + 1) for child in below)
    children: list[dict[str, Node]] = [{} for _ in opened]
    for fields, parent, _ in reversed(opened[1:]):
        node = _node(fields, children.pop())
        if node.name in children[parent]:
            fields.fail("there are two nodes of this name here")
        children[parent][node.name] = node
    return _node(opened[0][0], children[0])


def _opened(value: Any, parent: str | None) -> Fields:
    """Return the fields of a node whose parent has the path `parent`; None for the root."""
    fields = Fields(value, "tree")
    path = paths.ROOT if parent is None else paths.child(parent, fields.text("name"))
    fields.where = f"node {quoted(path)}"
    if fields.text("path") != path:
        fields.fail("its path is another than its place in the tree")
    return fields


def _node(fields: Fields, children: dict[str, Node]) -> Node:
    stats = _stats(fields)
    phases = [_stats(fields.sub(phase)) if phase in fields else None for phase in ("steady", "warmup")]
    node = Node(
        name=fields.text("name"),
        own_ns=fields.whole("unaccounted_ns"),
        concurrent_ns=fields.whole("concurrent_ns"),
        steady=phases[0] or stats,
        warmup=phases[1],
        windows=_windows(fields.sub("windows")) if "windows" in fields else Windows(),
        wait=fields.flag("wait"),
        call_sites=_call_sites(fields),
        work=_work(fields.sub("work")) if "work" in fields else None,
        cpu=_cpu(fields.sub("cpu")) if "cpu" in fields else None,
        memory=_memory(fields.sub("memory")) if "memory" in fields else None,
        device=fields.text("device") if "device" in fields else None,
        open=_open(fields.sub("open")) if "open" in fields else None,
        recorder_ns=fields.whole("recorder_ns", 0),
        per_run=_per_run(fields.sub("per_run")),
        children=dict(reversed(children.items())),
    )
    if node.stats != stats:
        fields.fail("its calls are not those of its warm-up and its steady phase together")
    if node.total_ns != fields.whole("total_ns"):
        fields.fail(f"the accounts do not add up: 'total_ns' should be {node.total_ns}")
    return node


def _stats(fields: Fields) -> Stats:
    return Stats(
        count=fields.whole("count"),
        sum_ns=fields.whole("sum_ns"),
        min_ns=fields.whole_or_none("min_ns"),
        max_ns=fields.whole_or_none("max_ns"),
        histogram=Histogram(fields.pairs("histogram", *_DURATIONS)),
    )


def _windows(fields: Fields) -> Windows:
    return Windows(
        width_ns=fields.whole("width_ns"),
        counts=fields.pairs("counts", 0, LIMIT),
        totals=fields.pairs("totals_ns", 0, LIMIT),
    )


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
    return Memory(fields.whole("samples"), fields.whole("change_bytes"), fields.whole("peak_bytes"))


def _open(fields: Fields) -> Open:
    return Open(fields.whole("count"), fields.whole("age_ns"))


def _loop(fields: Fields) -> Loop:
    path = fields.text("path")
    fields.where = f"loop {quoted(path)}"
    try:
        names = paths.split(path)
    except ValueError as error:
        fields.fail(str(error))
    if not names or fields.text("name") != names[-1]:
        fields.fail("its name is not the last of its path")
    rates = fields.raw("hz")
    listed = rates if isinstance(rates, list) else [] if rates is None else [rates]
    return Loop(
        path=path,
        ticks=fields.whole("ticks"),
        incomplete=fields.whole("incomplete", 0),
        hz=frozenset(fields.finite("hz", rate) for rate in listed),
        missed=fields.whole_or_none("missed") or 0,
        longest_miss_run=fields.whole_or_none("longest_miss_run") or 0,
        warmup_ticks=fields.whole("warmup_ticks", 0),
        stats=_stats(fields.sub("steady")),
        lateness=_lateness(fields.sub("lateness")) if "lateness" in fields else None,
        jitter=_jitter(fields.sub("jitter")) if "jitter" in fields else None,
        busy_ns=fields.whole("busy_ns"),
        first_ticks=_first(fields.sub("first_ticks")) if "first_ticks" in fields else None,
        worst=tuple(_worst(Fields(tick, f"{fields.where}: 'worst'")) for tick in fields.list("worst")),
    )


def _lateness(fields: Fields) -> Lateness:
    return Lateness(fields.whole("count"), fields.whole("sum_ns"), fields.whole("max_ns"))


def _jitter(fields: Fields) -> Jitter:
    return Jitter(fields.whole("count"), fields.whole("sum_ns"))


def _first(fields: Fields) -> FirstTicks:
    durations_ns = fields.list("durations_ns")
    if not all(type(duration) is int and 0 <= duration < LIMIT for duration in durations_ns):
        fields.fail("'durations_ns' should hold whole numbers")
    return FirstTicks(fields.whole("started_wall_ns"), fields.text("writer"), tuple(durations_ns))


def _worst(fields: Fields) -> WorstTick:
    return WorstTick(
        duration_ns=fields.whole("duration_ns"),
        writer=fields.text("writer"),
        tick=fields.whole("tick"),
        started_ns=fields.whole("started_ns"),
        breakdown=fields.counts("breakdown"),
        causes=fields.counts("causes"),
    )


def _gauge(name: str, fields: Fields) -> Gauge:
    return Gauge(
        name=name,
        last=fields.number("last"),
        last_wall_ns=fields.whole("last_wall_ns"),
        writer=fields.text("writer"),
        count=fields.whole("count"),
        min=fields.number("min"),
        max=fields.number("max"),
        positive=Histogram(fields.pairs("positive", *_READINGS)),
        negative=Histogram(fields.pairs("negative", *_READINGS)),
        zeros=fields.whole("zeros", 0),
    )


def _metadata(fields: Fields) -> Metadata:
    result: dict[str, frozenset[Value]] = {}
    for key in fields:
        value = fields.raw(key)
        values = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(each, (str, int, float)) for each in values):
            fields.fail(f"{quoted(key)} should hold strings, numbers or truths")
        result[key] = frozenset(values)
    return result
