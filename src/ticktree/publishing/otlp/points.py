"""A look at a run as one request: whose it is, and of which time every point is."""

from __future__ import annotations

import platform
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from ticktree import __version__
from ticktree.outputs.otlp.metrics import metrics, points, request_of, total, value
from ticktree.outputs.otlp.resource import Fields, attribute
from ticktree.outputs.view.headline import title
from ticktree.publishing.about import numbers
from ticktree.publishing.looks import Look
from ticktree.publishing.ratchet import Ratchet


class Points:
    """Turns looks into requests, each with what it needs to know of those before.

    All is cumulative since the run began. A sum that begins anew, as a loop's do when its warm-up ends, has from then
    on the time of the look before for its start.

    Args:
        began_ns: when the run began, in wall-clock nanoseconds since 1970.
        resource: whose metrics they are, beside the name of the run.
        name: what to call the service; "" for the run's name.
    """

    def __init__(self, began_ns: int, resource: Mapping[str, str], name: str = "") -> None:
        self._began_ns = began_ns
        self._resource = resource
        self._name = name
        self._ratchet = Ratchet()
        self._starts = _Starts(began_ns)

    def request(self, look: Look) -> Fields:
        """Return an ExportMetricsServiceRequest."""
        self._ratchet.begin(look.era)
        self._starts.begin(look.at_ns)
        whose = {"service.name": self._name or title(look.profile), **self._resource}
        attributes = [attribute(key, text) for key, text in whose.items()]
        return request_of(attributes, self._stamped(look))

    def _stamped(self, look: Look) -> Iterator[Fields]:
        for metric in (*metrics(look.profile, look.paths), *_beside(look)):
            is_sum = metric.get("sum", {}).get("isMonotonic", False)
            for point in points(metric):
                key = (metric["name"], *(each["value"]["stringValue"] for each in point["attributes"]))
                # That a loop's sums begin anew when its warm-up ends is true of them.
                if is_sum and not metric["name"].startswith("ticktree.loop."):
                    point["asInt"] = str(int(self._ratchet.held(key, int(point["asInt"]))))
                point.setdefault("timeUnixNano", str(look.at_ns))
                if "gauge" not in metric:
                    point["startTimeUnixNano"] = str(self._starts.of(key, point))
            yield metric


class _Starts:
    """Since when each sum is counted."""

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._before_ns = self._now_ns = began_ns
        self._starts: dict[Hashable, int] = {}
        self._counts: dict[Hashable, tuple[int, Mapping[int, int]]] = {}

    def begin(self, now_ns: int) -> None:
        self._before_ns, self._now_ns = self._now_ns, now_ns

    def of(self, key: Hashable, point: Fields) -> int:
        count = int(point["count"] if "count" in point else point["asInt"])
        buckets = _buckets(point.get("positive", {}))
        before, earlier = self._counts.get(key, (count, {}))
        if count < before or any(buckets.get(bucket, 0) < n for bucket, n in earlier.items()):
            self._starts[key] = self._before_ns
        self._counts[key] = count, buckets
        return self._starts.get(key, self._began_ns)


def _buckets(found: Fields) -> dict[int, int]:
    first = found.get("offset", 0)
    return {first + at: int(count) for at, count in enumerate(found.get("bucketCounts", ())) if count != "0"}


def _beside(look: Look) -> Iterator[Fields]:
    for number in numbers(look):
        make = total if number.kind == "sum" else value
        yield make(number.name, number.unit, number.label, number.values.items(), _itself)


def _itself(number: Any) -> int:
    return int(number)


def resource(run_id: str, said: Mapping[str, str]) -> dict[str, str]:
    """Return what tells a run from others; it stays as it is as long as the run goes on.

    Args:
        run_id: the run's.
        said: what its user says of it, which goes first.
    """
    return {
        "service.instance.id": run_id,
        "host.name": platform.node(),
        "telemetry.sdk.name": "ticktree",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": __version__,
        **said,
    }
