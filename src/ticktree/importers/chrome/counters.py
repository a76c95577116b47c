"""Counters of a trace as gauges."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.importers.chrome.events import Event, nanoseconds, text_of
from ticktree.profile import Gauge, Histogram

_LARGEST = 1e300  # and nothing that is no number is less


def gauges_of(events: Sequence[Event], wall_of_zero_ns: int | None) -> dict[str, Gauge]:
    """Return the gauges that counter events are readings of.

    Args:
        events: The counters; one may have several series.
        wall_of_zero_ns: When the file's clock was 0, since the epoch; None where that is not known.
    """
    readings: dict[str, list[tuple[int, float, str]]] = {}
    times, are_known = nanoseconds(event.get("ts") for event in events)
    for event, at, is_known in zip(events, times.tolist(), are_known.tolist(), strict=True):
        args = event.get("args")
        series = args if isinstance(args, dict) and is_known else {}
        for key, value in series.items():
            if type(value) in (int, float) and abs(value) < _LARGEST:
                alone = len(series) == 1 and key in ("value", event.get("name"))
                about = text_of(event.get("name"))
                name = about if alone else f"{about}/{key}"
                readings.setdefault(name, []).append((at, float(value), text_of(event.get("pid"))))
    return {name: _gauge(name, found, wall_of_zero_ns) for name, found in readings.items()}


def _gauge(name: str, readings: list[tuple[int, float, str]], wall_of_zero_ns: int | None) -> Gauge:
    at, last, writer = max(readings, key=lambda reading: reading[0])
    values = [value for _, value, _ in readings]
    return Gauge(
        name=name,
        last=last,
        last_wall_ns=0 if wall_of_zero_ns is None else max(0, wall_of_zero_ns + at),
        writer=writer,
        count=len(values),
        min=min(values),
        max=max(values),
        positive=Histogram.of(value for value in values if value > 0),
        negative=Histogram.of(-value for value in values if value < 0),
        zeros=values.count(0.0),
    )
