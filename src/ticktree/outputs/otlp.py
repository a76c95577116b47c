"""OpenTelemetry's metrics and spans as lines of OTLP/JSON, which its collector reads from files and over HTTP.

Metrics are a run's totals, and spans the calls of its timeline: neither is derived from the other. A span's parent is
the call that made it, if that was recorded; a call without one begins a new trace. So a loop's ticks are traces, like
a server's requests. Ids of spans and traces are counted, not random: the same timeline gives the same bytes, and
another timeline has other traces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from ticktree.outputs import protobuf as pb
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.headline import loss_counts, title
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Gauge, Histogram, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST
from ticktree.profile.metadata import Value, value_or_list
from ticktree.profile.timeline import CalledNode, Column, Lane, Timeline

Fields: TypeAlias = dict[str, Any]

SCOPE = {"name": "ticktree"}


def facts(profile: Profile) -> list[Fields]:
    """Return facts about the program and the machine, as attributes."""
    attributes = [attribute("service.name", title(profile))]
    for key in sorted(profile.metadata):
        value = value_or_list(profile.metadata[key])
        if value is not None:
            attributes.append(attribute(key, value))
    return attributes


def attribute(key: str, value: Value | Sequence[Value]) -> Fields:
    """Return an attribute."""
    return {"key": encodable(key), "value": _value(value)}


def counts(key: str, numbers: dict[str, int]) -> Fields:
    """Return an attribute whose value is a list of attributes, each a number."""
    values = [attribute(name, count) for name, count in numbers.items()]
    return {"key": key, "value": {"kvlistValue": {"values": values}}}


def _value(value: Value | Sequence[Value]) -> Fields:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str | int):
        return {"stringValue": encodable(str(value))}
    return {"arrayValue": {"values": [_value(item) for item in value]}}


SCALE = 5
_CUMULATIVE = 2


def request(profile: Profile) -> Fields:
    """Return one ExportMetricsServiceRequest; values that were not measured have no data point."""
    return request_of(facts(profile), metrics(profile))


def request_of(attributes: list[Fields], metrics: Iterable[Fields]) -> Fields:
    """Return one ExportMetricsServiceRequest.

    Args:
        attributes: of the resource that the metrics describe.
        metrics: those without a data point are left out.
    """
    scoped = [{"scope": SCOPE, "metrics": [metric for metric in metrics if points(metric)]}]
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": scoped}]}


def metrics(profile: Profile, paths: Container[str] | None = None) -> Iterator[Fields]:
    """Yield every metric, some without data points.

    Args:
        profile: what was recorded.
        paths: the sections to include; None for all. The run itself, whose path is "", is always included.
    """
    nodes = sorted(
        (path, node) for path, _, node in profile.root.walk() if paths is None or not path or path in paths
    )
    loops = sorted(profile.loops.items())
    gauges = sorted(profile.gauges.items())
    sections = nodes[1:]  # the root's path, "", comes first
    parallel = [(path, node) for path, node in sections if node.concurrent_ns]
    with_rate = [(path, loop) for path, loop in loops if loop.hz]

    yield total("section.calls", "{call}", "path", sections, lambda node: node.count)
    yield total("section.total", "ns", "path", nodes, lambda node: node.total_ns)
    yield total("section.own", "ns", "path", nodes, lambda node: node.self_ns)
    waits = [(path, node) for path, node in sections if node.wait]
    yield total("section.waited", "ns", "path", waits, lambda node: node.self_ns)
    yield total(
        "section.concurrent", "ns", "path", parallel, lambda node: node.concurrent_ns, monotonic=False
    )
    yield _durations("section.duration", "path", [(path, node.stats) for path, node in sections])
    yield total("loop.ticks", "{tick}", "loop", loops, lambda loop: loop.ticks)
    yield total("loop.ticks.warmup", "{tick}", "loop", loops, lambda loop: loop.warmup_ticks)
    yield total("loop.ticks.incomplete", "{tick}", "loop", loops, lambda loop: loop.incomplete)
    yield total("loop.ticks.missed", "{tick}", "loop", with_rate, lambda loop: loop.missed)
    budgets = [(path, loop.budget_ns) for path, loop in with_rate if loop.budget_ns]
    yield value("loop.budget", "ns", "loop", budgets, lambda budget_ns: budget_ns)
    yield _durations("loop.duration", "loop", [(path, loop.stats) for path, loop in loops])
    last = [
        _point("gauge", name, asDouble=gauge.last, timeUnixNano=str(gauge.last_wall_ns))
        for name, gauge in gauges
    ]
    yield _metric("gauge.last", "1", gauge={"dataPoints": last})
    yield _exponential("gauge.readings", "1", [_readings(gauge) for _, gauge in gauges])
    yield total("not_recorded", "1", "what", sorted(profile.losses.items()), lambda count: count)


def total(
    name: str,
    unit: str,
    label: str,
    entries: Iterable[tuple[str, Any]],
    value: Callable[[Any], int],
    *,
    monotonic: bool = True,
) -> Fields:
    """Return a metric of sums.

    Args:
        name: after the prefix that all have.
        unit: as OpenTelemetry writes it.
        label: the meaning of the entries' keys; "" for one entry without a key.
        entries: one data point per entry.
        value: returns the sum of an entry.
        monotonic: whether it never falls.
    """
    points = [_point(label, key, asInt=str(value(entry))) for key, entry in entries]
    kind: Fields = {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}
    return _metric(name, unit, sum={**kind, **({"isMonotonic": True} if monotonic else {})})


def value(
    name: str, unit: str, label: str, entries: Iterable[tuple[str, Any]], of: Callable[[Any], int]
) -> Fields:
    """Return a metric of values that rise and fall; its arguments are those of `total`."""
    points = [_point(label, key, asInt=str(of(entry))) for key, entry in entries]
    return _metric(name, unit, gauge={"dataPoints": points})


def _durations(name: str, label: str, entries: Iterable[tuple[str, Stats]]) -> Fields:
    points = []
    for key, stats in entries:
        if stats.count and stats.is_known:
            # 0 ns is below the clock's resolution, and counts as 1 ns.
            numbers = {"count": str(stats.count), "sum": stats.sum_ns, "scale": SCALE, "zeroCount": "0"}
            ends = {"min": stats.min_ns, "max": stats.max_ns}
            points.append(_point(label, key, **numbers, positive=_buckets(stats.histogram), **ends))
    return _exponential(name, "ns", points)


def _readings(gauge: Gauge) -> Fields:
    """Return a gauge's readings: they have no sum, and their extremes are those of the readings in buckets."""
    extremes = {"min": gauge.min, "max": gauge.max} if gauge.filed == gauge.count else {}
    return _point(
        "gauge",
        gauge.name,
        timeUnixNano=str(gauge.last_wall_ns),
        count=str(gauge.filed),
        scale=SCALE,
        zeroCount=str(gauge.zeros),
        positive=_buckets(gauge.positive),
        negative=_buckets(gauge.negative),
        **extremes,
    )


def _buckets(histogram: Histogram) -> Fields:
    if not histogram.buckets:
        return {}
    first, last = min(histogram.buckets), max(histogram.buckets)
    counts = [str(histogram.buckets.get(bucket, 0)) for bucket in range(first, last + 1)]
    return {"offset": first, "bucketCounts": counts}


def _exponential(name: str, unit: str, points: list[Fields]) -> Fields:
    kind = {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}
    return _metric(name, unit, exponentialHistogram=kind)


def _metric(name: str, unit: str, **kind: Fields) -> Fields:
    return {"name": f"ticktree.{name}", "unit": unit, **kind}


def points(metric: Fields) -> list[Fields]:
    """Return a metric's data points."""
    kind = next(metric[key] for key in ("sum", "gauge", "exponentialHistogram") if key in metric)
    data_points: list[Fields] = kind["dataPoints"]
    return data_points


def _point(label: str, key: str, **fields: Any) -> Fields:
    return {"attributes": [attribute(label, key)] if label else [], **fields}


# The type of a field: the name of a message, or the function that writes it.
_Kind: TypeAlias = str | Callable[[int, Any], bytes]


def _integer(field: int, number: str | int) -> bytes:
    return pb.integer(field, int(number), present=True)


def _fixed(field: int, number: str | int) -> bytes:
    return pb.fixed64(field, int(number), present=True)


_double = partial(pb.double, present=True)
_signed = partial(pb.signed, present=True)

# The fields that ticktree writes, by the names of opentelemetry-proto.
_MESSAGES: Mapping[str, Mapping[str, tuple[int, _Kind]]] = {
    "ExportMetricsServiceRequest": {"resourceMetrics": (1, "ResourceMetrics")},
    "ResourceMetrics": {"resource": (1, "Resource"), "scopeMetrics": (2, "ScopeMetrics")},
    "Resource": {"attributes": (1, "KeyValue")},
    "KeyValue": {"key": (1, pb.text), "value": (2, "AnyValue")},
    "AnyValue": {
        "stringValue": (1, lambda field, string: pb.text(field, string) or pb.message(field)),
        "boolValue": (2, _integer),
        "intValue": (3, _integer),
        "doubleValue": (4, _double),
        "arrayValue": (5, "ArrayValue"),
    },
    "ArrayValue": {"values": (1, "AnyValue")},
    "ScopeMetrics": {"scope": (1, "Scope"), "metrics": (2, "Metric")},
    "Scope": {"name": (1, pb.text)},
    "Metric": {
        "name": (1, pb.text),
        "unit": (3, pb.text),
        "gauge": (5, "Gauge"),
        "sum": (7, "Sum"),
        "exponentialHistogram": (10, "ExponentialHistogram"),
    },
    "Gauge": {"dataPoints": (1, "NumberDataPoint")},
    "Sum": {
        "dataPoints": (1, "NumberDataPoint"),
        "aggregationTemporality": (2, _integer),
        "isMonotonic": (3, _integer),
    },
    "ExponentialHistogram": {
        "dataPoints": (1, "ExponentialHistogramDataPoint"),
        "aggregationTemporality": (2, _integer),
    },
    "NumberDataPoint": {
        "startTimeUnixNano": (2, _fixed),
        "timeUnixNano": (3, _fixed),
        "asDouble": (4, _double),
        "asInt": (6, _fixed),
        "attributes": (7, "KeyValue"),
    },
    "ExponentialHistogramDataPoint": {
        "attributes": (1, "KeyValue"),
        "startTimeUnixNano": (2, _fixed),
        "timeUnixNano": (3, _fixed),
        "count": (4, _fixed),
        "sum": (5, _double),
        "scale": (6, _signed),
        "zeroCount": (7, _fixed),
        "positive": (8, "Buckets"),
        "negative": (9, "Buckets"),
        "min": (12, _double),
        "max": (13, _double),
    },
    "Buckets": {
        "offset": (1, _signed),
        "bucketCounts": (2, lambda field, counts: pb.integers(field, map(int, counts))),
    },
}


def binary(request: Fields) -> bytes:
    """Return an ExportMetricsServiceRequest of `metrics.request_of` as protocol buffers."""
    return _content("ExportMetricsServiceRequest", request)


def _content(message: str, fields: Fields) -> bytes:
    parts: list[bytes] = []
    kinds = _MESSAGES[message]
    for name, value in fields.items():
        number, kind = kinds[name]
        if isinstance(kind, str):
            items = value if isinstance(value, list) else [value]
            parts.extend(pb.message(number, _content(kind, item)) for item in items)
        else:
            parts.append(kind(number, value))
    return b"".join(parts)


NO_CALLER = -1


def callers_of(timeline: Timeline) -> Column:
    """Return for each call the index of its caller; `NO_CALLER` if that is not among the calls.

    The caller is the call of the parent section, in the same lane, that lasted during the whole call, or, for a
    duration measured elsewhere, at the moment of recording. That call may not have ended yet; if the parent section
    is on another thread or in another task, the recording does not show which of its calls it is. In both cases, no
    caller is invented.
    """
    count = len(timeline)
    if not count:
        return np.empty(0, np.int64)
    node, parent = _nodes_and_parents(timeline)
    width = len(timeline.nodes)
    # The calls of a lane in one node, in order of start: one code per node, and one per call of the node.
    groups, group = np.unique(timeline.lane * width + node[timeline.node], return_inverse=True)
    codes = np.sort(group * count + np.arange(count))
    parent_codes = timeline.lane * width + parent[timeline.node]
    group_of_parent = np.minimum(np.searchsorted(groups, parent_codes), len(groups) - 1)
    is_known = (parent[timeline.node] >= 0) & (groups[group_of_parent] == parent_codes)
    # The parent's last call that had begun by then: the calls of a node in a lane do not overlap.
    candidates = codes[
        np.searchsorted(codes, group_of_parent * count + _candidate_counts(timeline), "left") - 1
    ]
    caller = candidates % count
    is_known &= (candidates // count == group_of_parent) & (timeline.end_ns[caller] >= timeline.end_ns)
    return np.where(is_known, caller, NO_CALLER)


def _nodes_and_parents(timeline: Timeline) -> tuple[Column, Column]:
    """Return for each of the timeline's nodes a number per path, and its parent's number; -1 without a parent."""
    numbers: dict[str, int] = {}
    for node in timeline.nodes:
        numbers.setdefault(node.path, len(numbers))
    nodes = [numbers[node.path] for node in timeline.nodes]
    parents = [numbers.get(paths.parent(node.path), -1) if node.path else -1 for node in timeline.nodes]
    return np.array(nodes, np.int64), np.array(parents, np.int64)


def _candidate_counts(timeline: Timeline) -> Column:
    """Return for each call the number of calls that could be its caller: those before it or its recording."""
    recorded = np.array([node.recorded for node in timeline.nodes], bool)[timeline.node]
    handed_over = np.searchsorted(timeline.start_ns, timeline.end_ns, "right")
    return np.where(recorded, handed_over, np.arange(len(timeline)))


# Less than a collector accepts by default, even with long names.
SPANS_PER_REQUEST = 10_000
_INTERNAL = 1


def requests(profile: Profile, timeline: Timeline) -> Iterator[str]:
    """Yield ExportTraceServiceRequests as JSON, each with spans of one process."""
    spans = _Spans(timeline)
    processes = list(dict.fromkeys(lane.process for lane in timeline.lanes))
    numbers = {process: i for i, process in enumerate(processes)}
    process_of = np.array([numbers[lane.process] for lane in timeline.lanes], np.int64)[timeline.lane]
    run_facts = [*facts(profile), counts("not_recorded", loss_counts(profile, timeline))]
    for i, process in enumerate(processes):
        lane = next(lane for lane in timeline.lanes if lane.process == process)
        process_facts = (attribute("process.pid", lane.pid), attribute("process.title", lane.process_title))
        resource = json.dumps({"attributes": [*run_facts, *process_facts]}, separators=(",", ":"))
        calls = np.flatnonzero(process_of == i)
        # A request without calls has the losses.
        for first in range(0, max(1, len(calls)), SPANS_PER_REQUEST):
            span_list = ",".join(spans.encode(calls[first : first + SPANS_PER_REQUEST]))
            scoped = f'{{"scope":{json.dumps(SCOPE)},"spans":[{span_list}]}}'
            yield f'{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{scoped}]}}]}}'


class _Spans:
    """The spans of a timeline; text that many spans share is built once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._callers = callers_of(timeline)
        self._outermost = _outermost(self._callers)
        self._trace = _trace_prefix(timeline)
        names = (json.dumps(encodable(node.name)) for node in timeline.nodes)
        self._heads = [f'"name":{name},"kind":{_INTERNAL}' for name in names]
        self._node_texts = [_json_items(_node_attributes(node)) for node in timeline.nodes]
        self._lane_texts = [_json_items(_lane_attributes(lane)) for lane in timeline.lanes]

    def encode(self, calls: Column) -> Iterator[str]:
        timeline = self._timeline
        began = timeline.began_wall_ns or 0
        for call, caller, outermost, start, end, node, lane in zip(
            calls.tolist(),
            self._callers[calls].tolist(),
            self._outermost[calls].tolist(),
            timeline.start_ns[calls].tolist(),
            timeline.end_ns[calls].tolist(),
            timeline.node[calls].tolist(),
            timeline.lane[calls].tolist(),
            strict=True,
        ):
            parent = "" if caller == NO_CALLER else f'"parentSpanId":"{caller + 1:016x}",'
            yield (
                f'{{"traceId":"{self._trace}{outermost + 1:016x}","spanId":"{call + 1:016x}",{parent}'
                f'{self._heads[node]},"startTimeUnixNano":"{began + start}","endTimeUnixNano":"{began + end}",'
                f'"attributes":[{self._node_texts[node]},{self._lane_texts[lane]}]}}'
            )


def _outermost(callers: Column) -> Column:
    roots = np.where(callers == NO_CALLER, np.arange(len(callers)), callers)
    while not np.array_equal(roots, callers_of_roots := roots[roots]):
        roots = callers_of_roots
    return roots


def _trace_prefix(timeline: Timeline) -> str:
    """Return the first half of each trace's id: the timeline's run, and when it was read."""
    processes = sorted({lane.process for lane in timeline.lanes})
    identity = (timeline.began_wall_ns, timeline.overwritten, len(timeline), processes)
    return blake2b(json.dumps(identity).encode(), digest_size=8).hexdigest()


def _node_attributes(node: CalledNode) -> Iterator[tuple[str, Value]]:
    yield "path", node.path
    if node.clock != HOST:
        yield "clock", node.clock
    flags = {"wait": node.wait, "tick": node.tick, "measured_elsewhere": node.recorded}
    yield from ((name, True) for name, flag in flags.items() if flag)


def _lane_attributes(lane: Lane) -> Iterator[tuple[str, Value]]:
    if lane.thread_id:
        yield "thread.id", lane.thread_id
    yield "thread.name", lane.name
    if lane.number:
        yield "task", lane.number


def _json_items(attributes: Iterator[tuple[str, Value]]) -> str:
    """Return attributes as JSON, without the brackets around them."""
    return json.dumps([attribute(key, value) for key, value in attributes], separators=(",", ":"))[1:-1]


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return one request per line: one ExportMetricsServiceRequest, then the timeline's ExportTraceServiceRequests."""
    lines = [] if timeline is None else list(requests(profile, timeline))
    if options.only != "calls":
        lines.insert(0, json.dumps(request(profile), separators=(",", ":"), allow_nan=False))
    return "".join(f"{line}\n" for line in lines).encode()
