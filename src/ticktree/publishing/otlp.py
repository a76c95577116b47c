"""Send totals to OpenTelemetry's collectors at intervals, as OTLP over HTTP."""

from __future__ import annotations

import gzip
import math
import platform
import random
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from ticktree import __version__
from ticktree.outputs.otlp import Fields, attribute, binary, metrics, points, request_of, total, value
from ticktree.outputs.view.headline import title
from ticktree.publishing.otlp_destination import Destination
from ticktree.publishing.snapshots import MonotonicSums, RunSnapshot, RunSnapshots, run_metrics, start_thread

# Statuses of a collector that might accept the same request later.
_RETRYABLE = frozenset({429, 502, 503, 504})
_MAX_ANSWER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request."""

    problem: str = ""  # why it was not accepted
    is_temporary: bool = False  # whether a retry soon may help
    retry_after_s: float = 0.0  # when the collector wants the next request; 0 if it does not say


class Client:
    """Sends requests to a destination; `wall_s` returns the seconds since 1970."""

    def __init__(self, destination: Destination, wall_s: Callable[[], float] = time.time) -> None:
        self._destination = destination
        self._wall_s = wall_s
        handlers = [HTTPSHandler(context=destination.context)] if destination.context else []
        self._opener: OpenerDirector = build_opener(_NoRedirects, *handlers)

    def send(self, request: bytes, timeout_s: float = math.inf) -> Outcome:
        """Send an ExportMetricsServiceRequest as protocol buffers; wait at most `timeout_s` for the outcome."""
        headers = {
            "User-Agent": f"ticktree/{__version__}",
            **self._destination.headers,
            "Content-Type": "application/x-protobuf",
        }
        if self._destination.uses_gzip:
            request, headers["Content-Encoding"] = gzip.compress(request), "gzip"
        post = Request(self._destination.url, data=request, headers=headers, method="POST")
        try:
            timeout_s = min(self._destination.timeout_s, timeout_s)
            with self._opener.open(post, timeout=timeout_s) as answer:
                return _response_outcome(answer.read(_MAX_ANSWER_BYTES))
        except HTTPError as error:
            with error:
                return self._error_outcome(error)
        except (OSError, HTTPException, ValueError) as error:
            return Outcome(_error_text(error), is_temporary=True)

    def _error_outcome(self, error: HTTPError) -> Outcome:
        if 300 <= error.code < 400:
            location = error.headers.get("Location", "elsewhere")
            return Outcome(f"answers {error.code}: it has moved to {location}, which is not followed")
        retry_after_s = self._retry_after_s(error.headers.get("Retry-After", ""))
        return Outcome(f"answers {error.code} {error.reason}", error.code in _RETRYABLE, retry_after_s)

    def _retry_after_s(self, retry_after: str) -> float:
        if retry_after.isascii() and retry_after.isdigit():
            return float(retry_after[:9])
        try:
            return max(0.0, parsedate_to_datetime(retry_after).timestamp() - self._wall_s())
        except (TypeError, ValueError, IndexError, OverflowError):
            return 0.0


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the headers may be a secret for this address, and urllib would send a GET."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return no request, so that the redirect becomes an error."""


def _response_outcome(answer: bytes) -> Outcome:
    """Return the outcome in an ExportMetricsServiceResponse."""
    try:
        partial = _fields(answer).get(1, b"")
        fields = _fields(partial) if isinstance(partial, bytes) else {}
    except (IndexError, ValueError):
        return Outcome()  # its status was 200
    rejected, message = fields.get(1, 0), fields.get(2, b"")
    if not rejected or not isinstance(rejected, int) or not isinstance(message, bytes):
        return Outcome()
    reason = message.decode(errors="replace") or "it does not say why"
    return Outcome(f"did not take {rejected} data points: {reason}")


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Parse a message of numbers and bytes; the last value of a field counts."""
    fields: dict[int, int | bytes] = {}
    pos = 0
    while pos < len(message):
        tag, pos = _varint(message, pos)
        value, pos = _varint(message, pos)
        if tag & 7 == 2:
            fields[tag >> 3], pos = message[pos : pos + value], pos + value
        elif tag & 7 == 0:
            fields[tag >> 3] = value
        else:
            raise ValueError("neither a number nor bytes")
    return fields


def _varint(message: bytes, pos: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[pos]
        number |= (byte & 0x7F) << shift
        pos, shift = pos + 1, shift + 7
        if byte < 0x80:
            return number, pos


def _error_text(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_LONGEST_RETRY_AFTER_S = 3600.0


class SendSchedule:
    """When to send. Every request contains all sums, so missed requests are not repeated.

    `jitter` returns a number from 0 to 1, so that a fleet does not retry all at once.
    """

    def __init__(self, every_s: float, began_s: float, jitter: Callable[[], float] = random.random) -> None:
        self._every_s = every_s
        self._began_s = began_s
        self._jitter = jitter
        self._failures = 0
        self.due_s = began_s + every_s

    def sent(self, now_s: float, outcome: Outcome) -> None:
        """Update the schedule after the `outcome` of a request that ended at `now_s`."""
        periods = (now_s - self._began_s) // self._every_s
        next_s = self._began_s + (periods + 1) * self._every_s  # those that were due meanwhile are left out
        if not outcome.problem:
            self._failures = 0
            self.due_s = next_s
            return
        pause_s = min(_FIRST_PAUSE_S * 2**self._failures, _LONGEST_PAUSE_S) * (1 + self._jitter()) / 2
        self._failures = min(self._failures + 1, 10)
        retry_s = now_s + max(pause_s, min(outcome.retry_after_s, _LONGEST_RETRY_AFTER_S))
        # A permanent problem will not be gone a second later.
        self.due_s = retry_s if outcome.is_temporary else max(retry_s, next_s)


class RequestBuilder:
    """Builds requests from snapshots, and remembers what they need from earlier ones.

    All sums are cumulative since the run began. If a sum restarts, as a loop's do when its warm-up ends, its start
    becomes the time of the previous snapshot. The service's name is `name`, or else the run's.
    """

    def __init__(self, began_ns: int, resource: Mapping[str, str], name: str = "") -> None:
        self._began_ns = began_ns
        self._resource = resource
        self._name = name
        self._sums = MonotonicSums()
        self._start_times = _StartTimes(began_ns)

    def request(self, snapshot: RunSnapshot) -> Fields:
        """Return an ExportMetricsServiceRequest."""
        self._sums.begin(snapshot.generation)
        self._start_times.begin(snapshot.at_ns)
        resource_attributes = {"service.name": self._name or title(snapshot.profile), **self._resource}
        attributes = [attribute(key, text) for key, text in resource_attributes.items()]
        return request_of(attributes, self._with_times(snapshot))

    def _with_times(self, snapshot: RunSnapshot) -> Iterator[Fields]:
        for metric in (*metrics(snapshot.profile, snapshot.paths), *_metrics_of_snapshot(snapshot)):
            is_sum = metric.get("sum", {}).get("isMonotonic", False)
            for point in points(metric):
                key = (metric["name"], *(label["value"]["stringValue"] for label in point["attributes"]))
                # A loop's sums do restart when its warm-up ends.
                if is_sum and not metric["name"].startswith("ticktree.loop."):
                    point["asInt"] = str(int(self._sums.raise_to(key, int(point["asInt"]))))
                point.setdefault("timeUnixNano", str(snapshot.at_ns))
                if "gauge" not in metric:
                    point["startTimeUnixNano"] = str(self._start_times.of(key, point))
            yield metric


class _StartTimes:
    """The start time of each sum."""

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._before_ns = self._now_ns = began_ns
        self._start_times: dict[Hashable, int] = {}
        self._counts: dict[Hashable, tuple[int, Mapping[int, int]]] = {}

    def begin(self, now_ns: int) -> None:
        self._before_ns, self._now_ns = self._now_ns, now_ns

    def of(self, key: Hashable, point: Fields) -> int:
        count = int(point["count"] if "count" in point else point["asInt"])
        buckets = _buckets(point.get("positive", {}))
        last_count, last_buckets = self._counts.get(key, (count, {}))
        if count < last_count or any(buckets.get(bucket, 0) < n for bucket, n in last_buckets.items()):
            self._start_times[key] = self._before_ns
        self._counts[key] = count, buckets
        return self._start_times.get(key, self._began_ns)


def _buckets(histogram: Fields) -> dict[int, int]:
    first = histogram.get("offset", 0)
    return {
        first + index: int(count)
        for index, count in enumerate(histogram.get("bucketCounts", ()))
        if count != "0"
    }


def _metrics_of_snapshot(snapshot: RunSnapshot) -> Iterator[Fields]:
    for metric in run_metrics(snapshot):
        to_metric = total if metric.kind == "sum" else value
        yield to_metric(metric.name, metric.unit, metric.label, metric.values.items(), int)


def resource(run_id: str, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that identify a run while it continues; `attributes` of its user take precedence."""
    return {
        "service.instance.id": run_id,
        "host.name": platform.node(),
        "telemetry.sdk.name": "ticktree",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": __version__,
        **attributes,
    }


# How long `ticktree run` may wait at its end for the last totals.
LAST_TIMEOUT_S = 5.0


class Sender:
    """A thread that sends snapshots, as requests from `builder`, and warns the user of problems."""

    def __init__(
        self,
        destination: Destination,
        every_s: float,
        snapshots: RunSnapshots,
        builder: RequestBuilder,
        warn: Callable[[str], None],
    ) -> None:
        self._url = destination.url
        self._client = Client(destination)
        self._every_s = every_s
        self._snapshots = snapshots
        self._builder = builder
        self._warn_user = warn
        self._messages: set[str] = set()
        self._ended = threading.Event()
        self._last: RunSnapshot | None = None
        self._accepted: RunSnapshot | None = None

    def begin(self) -> None:
        """Start to send."""
        self._thread = start_thread(self._send_until_the_end, "otlp")

    def end(self, last: RunSnapshot | None) -> None:
        """Send the last snapshot now, or the newest if there is no last one; `wait` waits for it."""
        self._last = last
        self._give_up_s = time.monotonic() + LAST_TIMEOUT_S
        self._ended.set()

    def wait(self) -> None:
        """Wait for the last snapshot to be sent, at most `LAST_TIMEOUT_S`."""
        self._thread.join(max(0.0, self._give_up_s - time.monotonic()))
        if self._thread.is_alive():
            self._warn_user(f"--otlp {self._url}: no answer in time; it may not have the last totals")

    def _send_until_the_end(self) -> None:
        schedule = SendSchedule(self._every_s, time.monotonic())
        while not self._ended.wait(max(0.0, schedule.due_s - time.monotonic())):
            outcome = self._send(self._snapshots.latest())
            self._warn(outcome, "it is tried again")
            schedule.sent(time.monotonic(), outcome)
        remaining_s = self._give_up_s - time.monotonic()
        outcome = self._send(self._last or self._snapshots.latest(), remaining_s)
        if outcome.problem:
            self._messages.clear()
        self._warn(outcome, "it does not have the last totals")

    def _send(self, snapshot: RunSnapshot | None, timeout_s: float = 3600.0) -> Outcome:
        # There may be no new snapshot while reading rests.
        if snapshot is None or snapshot is self._accepted or timeout_s <= 0:
            return Outcome()
        before_s = time.thread_time()
        request = binary(self._builder.request(snapshot))
        self._snapshots.charge(time.thread_time() - before_s)
        outcome = self._client.send(request, timeout_s)
        if not outcome.problem:
            self._accepted = snapshot
        return outcome

    def _warn(self, outcome: Outcome, consequence: str) -> None:
        """Print each problem once, so that a collector that is down all night does not fill a log."""
        if outcome.problem and outcome.problem not in self._messages:
            self._messages.add(outcome.problem)
            self._warn_user(f"--otlp {self._url}: {outcome.problem}; {consequence}")
