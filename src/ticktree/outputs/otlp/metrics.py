"""Metrics: a run's totals as one request of OTLP.

ticktree's histograms are OpenTelemetry's exponential ones of scale 5 in nanoseconds, bucket by bucket: both have 32 to
an octave. Only where a bucket ends do they differ by a hair: a duration that is a power of two of nanoseconds to the
nanosecond is the first of its bucket here, and the last of the one before there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from ticktree.outputs.otlp.resource import SCOPE, Fields, attribute, facts
from ticktree.profile import Gauge, Histogram, Profile, Stats

SCALE = 5
_CUMULATIVE = 2


def request(profile: Profile) -> Fields:
    """Return one ExportMetricsServiceRequest; what was not measured has no data point."""
    return request_of(facts(profile), metrics(profile))


def request_of(attributes: list[Fields], metrics: Iterable[Fields]) -> Fields:
    """Return one ExportMetricsServiceRequest.

    Args:
        attributes: of the resource: whose metrics they are.
        metrics: those without a data point are left out.
    """
    found = [metric for metric in metrics if points(metric)]
    scoped = [{"scope": SCOPE, "metrics": found}]
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": scoped}]}


def metrics(profile: Profile, paths: Container[str] | None = None) -> Iterator[Fields]:
    """Yield every metric, some without data points.

    Args:
        profile: what was recorded.
        paths: the sections to tell of; None for all. The run itself, whose path is "", is always told of.
    """
    every = ((path, node) for path, _, node in profile.root.walk())
    nodes = sorted((pair for pair in every if paths is None or not pair[0] or pair[0] in paths), key=_path)
    loops = sorted(profile.loops.items())
    gauges = sorted(profile.gauges.items())
    below = nodes[1:]  # the root's path, "", comes first
    beside = [(path, node) for path, node in below if node.concurrent_ns]
    with_rate = [(path, loop) for path, loop in loops if loop.hz]

    yield total("section.calls", "{call}", "path", below, lambda node: node.count)
    yield total("section.total", "ns", "path", nodes, lambda node: node.total_ns)
    yield total("section.own", "ns", "path", nodes, lambda node: node.self_ns)
    waits = [(path, node) for path, node in below if node.wait]
    yield total("section.waited", "ns", "path", waits, lambda node: node.self_ns)
    yield total("section.concurrent", "ns", "path", beside, lambda node: node.concurrent_ns, monotonic=False)
    yield _durations("section.duration", "path", [(path, node.stats) for path, node in below])
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


def _path(pair: tuple[str, Any]) -> str:
    return pair[0]


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
        label: what the entries' keys are; "" where there is one without a key.
        entries: what there is a data point of.
        value: the sum of an entry.
        monotonic: whether it never falls.
    """
    points = [_point(label, key, asInt=str(value(entry))) for key, entry in entries]
    kind: Fields = {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}
    return _metric(name, unit, sum={**kind, **({"isMonotonic": True} if monotonic else {})})


def value(
    name: str, unit: str, label: str, entries: Iterable[tuple[str, Any]], of: Callable[[Any], int]
) -> Fields:
    """Return a metric of values that rise and fall; its arguments are those of `total`."""
    return _metric(
        name, unit, gauge={"dataPoints": [_point(label, key, asInt=str(of(entry))) for key, entry in entries]}
    )


def _durations(name: str, label: str, entries: Iterable[tuple[str, Stats]]) -> Fields:
    points = [_duration(label, key, stats) for key, stats in entries if stats.count and stats.is_known]
    return _exponential(name, "ns", points)


def _duration(label: str, key: str, stats: Stats) -> Fields:
    return _point(
        label,
        key,
        count=str(stats.count),
        sum=stats.sum_ns,
        scale=SCALE,
        zeroCount="0",  # 0 ns is below the clock's resolution, and is counted with 1 ns
        positive=_buckets(stats.histogram),
        min=stats.min_ns,
        max=stats.max_ns,
    )


def _readings(gauge: Gauge) -> Fields:
    """Return a gauge's readings: they have no sum, and their extremes are those of the ones that are filed."""
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
