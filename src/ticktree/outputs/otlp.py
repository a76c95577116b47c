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
from ticktree.outputs.view.headline import lost, title
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Gauge, Histogram, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST
from ticktree.profile.metadata import Value, one_or_list
from ticktree.profile.timeline import CalledNode, Column, Lane, Timeline

Fields: TypeAlias = dict[str, Any]

SCOPE = {"name": "ticktree"}


def facts(profile: Profile) -> list[Fields]:
    """Return facts about the program and the machine, as attributes."""
    found = [attribute("service.name", title(profile))]
    for key in sorted(profile.metadata):
        value = one_or_list(profile.metadata[key])
        if value is not None:
            found.append(attribute(key, value))
    return found


def attribute(key: str, value: Value | Sequence[Value]) -> Fields:
    """Return an attribute."""
    return {"key": encodable(key), "value": _value(value)}


def counts(key: str, numbers: dict[str, int]) -> Fields:
    """Return an attribute whose value is a list of attributes, each a number."""
    values = [attribute(what, count) for what, count in numbers.items()]
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
    return {"arrayValue": {"values": [_value(each) for each in value]}}


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
    every = [
        (path, node) for path, _, node in profile.root.walk() if paths is None or not path or path in paths
    ]
    nodes = sorted(every, key=lambda pair: pair[0])
    loops = sorted(profile.loops.items())
    gauges = sorted(profile.gauges.items())
    below = nodes[1:]  # the root's path, "", comes first
    concurrent = [(path, node) for path, node in below if node.concurrent_ns]
    with_rate = [(path, loop) for path, loop in loops if loop.hz]

    yield total("section.calls", "{call}", "path", below, lambda node: node.count)
    yield total("section.total", "ns", "path", nodes, lambda node: node.total_ns)
    yield total("section.own", "ns", "path", nodes, lambda node: node.self_ns)
    waits = [(path, node) for path, node in below if node.wait]
    yield total("section.waited", "ns", "path", waits, lambda node: node.self_ns)
    yield total(
        "section.concurrent", "ns", "path", concurrent, lambda node: node.concurrent_ns, monotonic=False
    )
    yield _durations("section.duration", "path", [(path, node.stats) for path, node in below])
    yield total("loop.ticks", "{tick}", "loop", loops, lambda loop: loop.ticks)
    yield total("loop.ticks.warmup", "{tick}", "loop", loops, lambda loop: loop.warmup_ticks)
    yield total("loop.ticks.incomplete", "{tick}", "loop", loops, lambda loop: loop.incomplete)
    yield total("loop.ticks.missed", "{tick}", "loop", with_rate, lambda loop: loop.missed)
    budgets = [(path, loop.budget_ns) for path, loop in with_rate if loop.budget_ns]
    yield value("loop.budget", "ns", "loop", budgets, lambda budget_ns: budget_ns)
    yield _durations("loop.duration", "loop", [(path, loop.stats) for path, loop in loops])
    times = [(name, gauge.last, str(gauge.last_wall_ns)) for name, gauge in gauges]
    last = [_point("gauge", name, asDouble=value, timeUnixNano=at) for name, value, at in times]
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
            buckets, (least, most) = _buckets(stats.histogram), (stats.min_ns, stats.max_ns)
            points.append(_point(label, key, **numbers, positive=buckets, min=least, max=most))
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
    found: list[Fields] = kind["dataPoints"]
    return found


def _point(label: str, key: str, **fields: Any) -> Fields:
    return {"attributes": [attribute(label, key)] if label else [], **fields}


# The type of a field: the name of a message, or the function that writes it.
_Kind: TypeAlias = str | Callable[[int, Any], bytes]


def _text_of_a_choice(field: int, words: str) -> bytes:
    return pb.text(field, words) or pb.message(field)


def _integer(field: int, number: str | int) -> bytes:
    return pb.integer(field, int(number), present=True)


def _fixed(field: int, number: str | int) -> bytes:
    return pb.fixed64(field, int(number), present=True)


def _counts(field: int, numbers: list[str]) -> bytes:
    return pb.integers(field, map(int, numbers))


_double = partial(pb.double, present=True)
_signed = partial(pb.signed, present=True)

# The fields that ticktree writes, by the names of opentelemetry-proto.
_MESSAGES: Mapping[str, Mapping[str, tuple[int, _Kind]]] = {
    "ExportMetricsServiceRequest": {"resourceMetrics": (1, "ResourceMetrics")},
    "ResourceMetrics": {"resource": (1, "Resource"), "scopeMetrics": (2, "ScopeMetrics")},
    "Resource": {"attributes": (1, "KeyValue")},
    "KeyValue": {"key": (1, pb.text), "value": (2, "AnyValue")},
    "AnyValue": {
        "stringValue": (1, _text_of_a_choice),
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
    "Buckets": {"offset": (1, _signed), "bucketCounts": (2, _counts)},
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
            every = value if isinstance(value, list) else [value]
            parts.extend(pb.message(number, _content(kind, each)) for each in every)
        else:
            parts.append(kind(number, value))
    return b"".join(parts)


NO_CALL = -1


def callers_of(timeline: Timeline) -> Column:
    """Return for each call the index of its caller; `NO_CALL` if that is not among the calls.

    The tree has the section whose child a call is. The caller is that section's call, in the same lane, that lasted
    during the whole call, or, for a duration measured elsewhere, at the moment when it was recorded. That call may not
    have ended yet; and if the section is on another thread or in another task, it was not recorded which of its calls
    it is. In both cases, no caller is invented.
    """
    count = len(timeline)
    if not count:
        return np.empty(0, np.int64)
    place, above = _places(timeline)
    width = len(timeline.spots)
    # The calls of a lane in one node, in order of start: one code per node, and one per call of the node.
    groups, group = np.unique(timeline.lane * width + place[timeline.spot], return_inverse=True)
    codes = np.sort(group * count + np.arange(count))
    wanted = timeline.lane * width + above[timeline.spot]
    at = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
    known = (above[timeline.spot] >= 0) & (groups[at] == wanted)
    # The last of them that had begun by then: the calls of a node in a lane do not overlap.
    found = codes[np.searchsorted(codes, at * count + _bounds(timeline), "left") - 1]
    caller = found % count
    known &= (found // count == at) & (timeline.end_ns[caller] >= timeline.end_ns)
    return np.where(known, caller, NO_CALL)


def _places(timeline: Timeline) -> tuple[Column, Column]:
    """Return for each spot its node, which spots may share, and that node's parent; -1 if there is none."""
    place: dict[str, int] = {}
    for spot in timeline.spots:
        place.setdefault(spot.path, len(place))
    own = [place[spot.path] for spot in timeline.spots]
    above = [place.get(paths.parent(spot.path), -1) if spot.path else -1 for spot in timeline.spots]
    return np.array(own, np.int64), np.array(above, np.int64)


def _bounds(timeline: Timeline) -> Column:
    """Return for each call how many calls could be its caller: those before it, or before it was recorded."""
    recorded = np.array([spot.recorded for spot in timeline.spots], bool)[timeline.spot]
    handed_over = np.searchsorted(timeline.start_ns, timeline.end_ns, "right")
    return np.where(recorded, handed_over, np.arange(len(timeline)))


# Per request: less than a collector accepts by default, even with long names.
SPANS_AT_ONCE = 10_000
_INTERNAL = 1


def requests(profile: Profile, timeline: Timeline) -> Iterator[str]:
    """Yield ExportTraceServiceRequests as JSON, each with spans of one process."""
    spans = _Spans(timeline)
    processes = list(dict.fromkeys(lane.process for lane in timeline.lanes))
    number = {process: at for at, process in enumerate(processes)}
    process_of = np.array([number[lane.process] for lane in timeline.lanes], np.int64)[timeline.lane]
    about = [*facts(profile), counts("not_recorded", lost(profile, timeline))]
    for at, process in enumerate(processes):
        lane = next(lane for lane in timeline.lanes if lane.process == process)
        process_facts = (attribute("process.pid", lane.pid), attribute("process.title", lane.process_title))
        resource = json.dumps({"attributes": [*about, *process_facts]}, separators=(",", ":"))
        calls = np.flatnonzero(process_of == at)
        # A request without calls has the losses.
        for first in range(0, max(1, len(calls)), SPANS_AT_ONCE):
            listed = ",".join(spans.of(calls[first : first + SPANS_AT_ONCE]))
            scoped = f'{{"scope":{json.dumps(SCOPE)},"spans":[{listed}]}}'
            yield f'{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{scoped}]}}]}}'


class _Spans:
    """The spans of a timeline; text that many of them share is built once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._callers = callers_of(timeline)
        self._outermost = _outermost(self._callers)
        self._trace = _identity(timeline)
        names = (json.dumps(encodable(spot.name)) for spot in timeline.spots)
        self._heads = [f'"name":{name},"kind":{_INTERNAL}' for name in names]
        self._abouts = [_listed(_about(spot)) for spot in timeline.spots]
        self._threads = [_listed(_thread(lane)) for lane in timeline.lanes]

    def of(self, calls: Column) -> Iterator[str]:
        timeline = self._timeline
        began = timeline.began_wall_ns or 0
        for call, caller, outermost, start, end, spot, lane in zip(
            calls.tolist(),
            self._callers[calls].tolist(),
            self._outermost[calls].tolist(),
            timeline.start_ns[calls].tolist(),
            timeline.end_ns[calls].tolist(),
            timeline.spot[calls].tolist(),
            timeline.lane[calls].tolist(),
            strict=True,
        ):
            parent = "" if caller == NO_CALL else f'"parentSpanId":"{caller + 1:016x}",'
            yield (
                f'{{"traceId":"{self._trace}{outermost + 1:016x}","spanId":"{call + 1:016x}",{parent}'
                f'{self._heads[spot]},"startTimeUnixNano":"{began + start}","endTimeUnixNano":"{began + end}",'
                f'"attributes":[{self._abouts[spot]},{self._threads[lane]}]}}'
            )


def _outermost(callers: Column) -> Column:
    top = np.where(callers == NO_CALL, np.arange(len(callers)), callers)
    while not np.array_equal(top, further := top[top]):
        top = further
    return top


def _identity(timeline: Timeline) -> str:
    """Return the first half of each trace's id: the timeline's run, and when it was read."""
    processes = sorted({lane.process for lane in timeline.lanes})
    identity = (timeline.began_wall_ns, timeline.overwritten, len(timeline), processes)
    return blake2b(json.dumps(identity).encode(), digest_size=8).hexdigest()


def _about(spot: CalledNode) -> Iterator[tuple[str, Value]]:
    yield "path", spot.path
    if spot.clock != HOST:
        yield "clock", spot.clock
    flags = {"wait": spot.wait, "tick": spot.tick, "measured_elsewhere": spot.recorded}
    yield from ((name, True) for name, is_so in flags.items() if is_so)


def _thread(lane: Lane) -> Iterator[tuple[str, Value]]:
    if lane.thread_id:
        yield "thread.id", lane.thread_id
    yield "thread.name", lane.name
    if lane.number:
        yield "task", lane.number


def _listed(attributes: Iterator[tuple[str, Value]]) -> str:
    """Return attributes as JSON, without the brackets around them."""
    return json.dumps([attribute(key, value) for key, value in attributes], separators=(",", ":"))[1:-1]


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return one request per line: one ExportMetricsServiceRequest, then the timeline's ExportTraceServiceRequests."""
    lines = [] if timeline is None else list(requests(profile, timeline))
    if options.only != "calls":
        lines.insert(0, json.dumps(request(profile), separators=(",", ":"), allow_nan=False))
    return "".join(f"{line}\n" for line in lines).encode()
