"""One request, and what came of it."""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from ticktree import __version__
from ticktree.publishing.otlp.destination import Destination

# What a collector says when it might take the same request later.
_MAY_WORK_LATER = frozenset({429, 502, 503, 504})
_ANSWER_AT_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request.

    Attributes:
        trouble: why it was not taken; "" where it was.
        is_passing: whether trying again soon may help.
        retry_after_s: when the collector wants to be asked again; 0 where it did not say.
    """

    trouble: str = ""
    is_passing: bool = False
    retry_after_s: float = 0.0


class Client:
    """Sends requests to one door.

    Args:
        destination: the door.
        wall_s: seconds since 1970.
    """

    def __init__(self, destination: Destination, wall_s: Callable[[], float] = time.time) -> None:
        self._destination = destination
        self._wall_s = wall_s
        handlers = [HTTPSHandler(context=destination.context)] if destination.context else []
        self._opener: OpenerDirector = build_opener(_StayHere, *handlers)

    def send(self, request: bytes, patience_s: float = math.inf) -> Outcome:
        """Send a request; whatever happens is the outcome.

        Args:
            request: an ExportMetricsServiceRequest as protocol buffers.
            patience_s: how long to wait at most, where that is less than usual.
        """
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
            return Outcome(_said(error), is_passing=True)

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
    """Follows nobody: the headers may be a secret between us and the door, and urllib would make it a GET."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return no request: the redirect is then an error like others."""


def _taken(answer: bytes) -> Outcome:
    """Return what an ExportMetricsServiceResponse says."""
    try:
        rejected, why = _rejected(answer)
    except (IndexError, ValueError):
        return Outcome()  # a 200 is a 200
    if not rejected:
        return Outcome()
    return Outcome(f"did not take {rejected} data points: {why or 'it does not say why'}")


def _rejected(answer: bytes) -> tuple[int, str]:
    """Return how many data points a collector did not take, and why."""
    partial = _fields(answer).get(1, b"")
    fields = _fields(partial) if isinstance(partial, bytes) else {}
    rejected, why = fields.get(1, 0), fields.get(2, b"")
    if not isinstance(rejected, int) or not isinstance(why, bytes):
        return 0, ""
    return rejected, why.decode(errors="replace")


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


def _said(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
