"""Totals that are sent to OpenTelemetry's collectors every so often, as OTLP over HTTP."""

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
from ticktree.publishing.snapshots import Ratchet, RunSnapshot, RunSnapshots, numbers, started

# What a collector says when it might take the same request later.
_MAY_WORK_LATER = frozenset({429, 502, 503, 504})
_ANSWER_AT_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request."""

    trouble: str = ""  # why it was not taken
    is_passing: bool = False  # whether trying again soon may help
    retry_after_s: float = 0.0  # when the collector wants the next request; 0 where it names no time


class Client:
    """Sends requests to one door; `wall_s` returns the seconds since 1970."""

    def __init__(self, destination: Destination, wall_s: Callable[[], float] = time.time) -> None:
        self._destination = destination
        self._wall_s = wall_s
        handlers = [HTTPSHandler(context=destination.context)] if destination.context else []
        self._opener: OpenerDirector = build_opener(_StayHere, *handlers)

    def send(self, request: bytes, patience_s: float = math.inf) -> Outcome:
        """Send an ExportMetricsServiceRequest as protocol buffers, and wait so long at most for the outcome."""
        headers = {
            "User-Agent": f"ticktree/{__version__}",
            **self._destination.headers,
            "Content-Type": "application/x-protobuf",
        }
        if self._destination.compressed:
            request, headers["Content-Encoding"] = gzip.compress(request), "gzip"
        post = Request(self._destination.url, data=request, headers=headers, method="POST")
        try:
            timeout_s = min(self._destination.timeout_s, patience_s)
            with self._opener.open(post, timeout=timeout_s) as answer:
                return _taken(answer.read(_ANSWER_AT_MOST))
        except HTTPError as error:
            with error:
                return self._refused(error)
        except (OSError, HTTPException, ValueError) as error:
            return Outcome(_reason(error), is_passing=True)

    def _refused(self, error: HTTPError) -> Outcome:
        if 300 <= error.code < 400:
            to = error.headers.get("Location", "elsewhere")
            return Outcome(f"answers {error.code}: it has moved to {to}, which is not followed")
        after_s = self._seconds(error.headers.get("Retry-After", ""))
        return Outcome(f"answers {error.code} {error.reason}", error.code in _MAY_WORK_LATER, after_s)

    def _seconds(self, retry_after: str) -> float:
        if retry_after.isascii() and retry_after.isdigit():
            return float(retry_after[:9])
        try:
            return max(0.0, parsedate_to_datetime(retry_after).timestamp() - self._wall_s())
        except (TypeError, ValueError, IndexError, OverflowError):
            return 0.0


class _StayHere(HTTPRedirectHandler):
    """Follows no redirect: the headers may be a secret for this address, and urllib would make it a GET."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return no request: the redirect is then an error like others."""


def _taken(answer: bytes) -> Outcome:
    """Return what an ExportMetricsServiceResponse says."""
    try:
        partial = _fields(answer).get(1, b"")
        fields = _fields(partial) if isinstance(partial, bytes) else {}
    except (IndexError, ValueError):
        return Outcome()  # a 200 is a 200
    rejected, why = fields.get(1, 0), fields.get(2, b"")
    if not rejected or not isinstance(rejected, int) or not isinstance(why, bytes):
        return Outcome()
    reason = why.decode(errors="replace") or "it does not say why"
    return Outcome(f"did not take {rejected} data points: {reason}")


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Read a message of numbers and bytes; the last of a field counts."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value, at = _varint(message, at)
        if tag & 7 == 2:
            found[tag >> 3], at = message[at : at + value], at + value
        elif tag & 7 == 0:
            found[tag >> 3] = value
        else:
            raise ValueError("neither a number nor bytes")
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_LONGEST_RETRY_AFTER_S = 3600.0


class Pace:
    """The moments at which to send. All sums are sent each time, so what was missed is not sent later.

    `lot` returns a number from 0 to 1, so that a fleet does not try again all at once.
    """

    def __init__(self, every_s: float, began_s: float, lot: Callable[[], float] = random.random) -> None:
        self._every_s = every_s
        self._began_s = began_s
        self._lot = lot
        self._failures = 0
        self.due_s = began_s + every_s

    def sent(self, now_s: float, outcome: Outcome) -> None:
        """Note what came of a request that has ended now, and when the next one is due."""
        passed = (now_s - self._began_s) // self._every_s
        next_s = self._began_s + (passed + 1) * self._every_s  # those it took the time of are left out
        if not outcome.trouble:
            self._failures = 0
            self.due_s = next_s
            return
        pause_s = min(_FIRST_PAUSE_S * 2**self._failures, _LONGEST_PAUSE_S) * (1 + self._lot()) / 2
        self._failures = min(self._failures + 1, 10)
        again_s = now_s + max(pause_s, min(outcome.retry_after_s, _LONGEST_RETRY_AFTER_S))
        # What the collector will not take now, it will not take a second later.
        self.due_s = again_s if outcome.is_passing else max(again_s, next_s)


class Points:
    """Turns snapshots into requests, each with what it needs to know of those before.

    All is cumulative since the run began. A sum that restarts, as a loop's do when its warm-up ends, has from
    then on the time of the snapshot before for its start.
    The service is called `name`, or else as the run is.
    """

    def __init__(self, began_ns: int, resource: Mapping[str, str], name: str = "") -> None:
        self._began_ns = began_ns
        self._resource = resource
        self._name = name
        self._ratchet = Ratchet()
        self._starts = _Starts(began_ns)

    def request(self, snapshot: RunSnapshot) -> Fields:
        """Return an ExportMetricsServiceRequest."""
        self._ratchet.begin(snapshot.generation)
        self._starts.begin(snapshot.at_ns)
        whose = {"service.name": self._name or title(snapshot.profile), **self._resource}
        attributes = [attribute(key, text) for key, text in whose.items()]
        return request_of(attributes, self._stamped(snapshot))

    def _stamped(self, snapshot: RunSnapshot) -> Iterator[Fields]:
        for metric in (*metrics(snapshot.profile, snapshot.paths), *_of_snapshot(snapshot)):
            is_sum = metric.get("sum", {}).get("isMonotonic", False)
            for point in points(metric):
                key = (metric["name"], *(each["value"]["stringValue"] for each in point["attributes"]))
                # A loop's sums do restart when its warm-up ends.
                if is_sum and not metric["name"].startswith("ticktree.loop."):
                    point["asInt"] = str(int(self._ratchet.held(key, int(point["asInt"]))))
                point.setdefault("timeUnixNano", str(snapshot.at_ns))
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


def _of_snapshot(snapshot: RunSnapshot) -> Iterator[Fields]:
    for number in numbers(snapshot):
        make = total if number.kind == "sum" else value
        yield make(number.name, number.unit, number.label, number.values.items(), int)


def resource(run_id: str, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return what tells a run from others as long as it continues; `attributes`, which its user sets, go first."""
    return {
        "service.instance.id": run_id,
        "host.name": platform.node(),
        "telemetry.sdk.name": "ticktree",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": __version__,
        **attributes,
    }


# How long the end of `ticktree run` may be put off for the last totals.
LAST_PATIENCE_S = 5.0


class Sender:
    """A thread that sends snapshots, as requests that `points` makes of them, and tells the user what is wrong."""

    def __init__(
        self,
        destination: Destination,
        every_s: float,
        snapshots: RunSnapshots,
        points: Points,
        say: Callable[[str], None],
    ) -> None:
        self._url = destination.url
        self._client = Client(destination)
        self._every_s = every_s
        self._snapshots = snapshots
        self._points = points
        self._say = say
        self._messages: set[str] = set()
        self._ended = threading.Event()
        self._last: RunSnapshot | None = None
        self._taken: RunSnapshot | None = None

    def begin(self) -> None:
        """Begin to send."""
        self._thread = started(self._send_until_the_end, "otlp")

    def end(self, last: RunSnapshot | None) -> None:
        """Send the last snapshot now, or the newest where there is no last one; `wait` waits for it."""
        self._last = last
        self._give_up_s = time.monotonic() + LAST_PATIENCE_S
        self._ended.set()

    def wait(self) -> None:
        """Wait for the last snapshot to be sent, not for ever."""
        self._thread.join(max(0.0, self._give_up_s - time.monotonic()))
        if self._thread.is_alive():
            self._say(f"--otlp {self._url}: no answer in time; it may not have the last totals")

    def _send_until_the_end(self) -> None:
        pace = Pace(self._every_s, time.monotonic())
        while not self._ended.wait(max(0.0, pace.due_s - time.monotonic())):
            outcome = self._send(self._snapshots.latest())
            self._tell(outcome, "it is tried again")
            pace.sent(time.monotonic(), outcome)
        left_s = self._give_up_s - time.monotonic()
        outcome = self._send(self._last or self._snapshots.latest(), left_s)
        if outcome.trouble:
            self._messages.clear()
        self._tell(outcome, "it does not have the last totals")

    def _send(self, snapshot: RunSnapshot | None, patience_s: float = 3600.0) -> Outcome:
        # While reading rests there may be nothing new.
        if snapshot is None or snapshot is self._taken or patience_s <= 0:
            return Outcome()
        before_s = time.thread_time()
        request = binary(self._points.request(snapshot))
        self._snapshots.charge(time.thread_time() - before_s)
        outcome = self._client.send(request, patience_s)
        if not outcome.trouble:
            self._taken = snapshot
        return outcome

    def _tell(self, outcome: Outcome, so: str) -> None:
        """Print what is wrong, once: a sink that is down all night fills no log."""
        if outcome.trouble and outcome.trouble not in self._messages:
            self._messages.add(outcome.trouble)
            self._say(f"--otlp {self._url}: {outcome.trouble}; {so}")
