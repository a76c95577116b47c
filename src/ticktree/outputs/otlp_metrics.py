"""Metrics of OTLP: a run's totals as one request, as JSON and as protocol buffers, which collectors prefer.

ticktree's histograms are OpenTelemetry's exponential ones of scale 5 in nanoseconds, bucket by bucket: both have 32
buckets per octave. They differ in one detail: a duration of exactly a power of two of nanoseconds is the first of its
bucket in ticktree, and the last of the bucket before in OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from ticktree.outputs import protobuf as pb
from ticktree.outputs.view.headline import title
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Gauge, Histogram, Profile, Stats
from ticktree.profile.metadata import Value, one_or_list

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
