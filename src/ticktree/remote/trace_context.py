"""W3C trace context: passed on unchanged, and begun only on request.

A request may carry a `traceparent`. Calls that the server makes for it carry the same one: ticktree's sections are not
spans that a backend could look up. Libraries that set their own, above all OpenTelemetry, keep it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

from ticktree.recorder import TRACE_VARIABLE

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"

# Later versions may append fields: accepted are characters that every library allows in a header, up to a limit.
_TRACEPARENT = re.compile(
    r"(?!ff)(?!00.{53}-)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{0,200})?"
)
_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_MAX_STATE = 512  # every implementation must pass on this many characters


class TraceContext(NamedTuple):
    """The trace that a request belongs to."""

    traceparent: str
    tracestate: str = ""

    def headers(self) -> Iterator[tuple[str, str]]:
        """Yield the headers that carry it."""
        yield TRACEPARENT, self.traceparent
        if self.tracestate:
            yield TRACESTATE, self.tracestate


incoming: ContextVar[TraceContext | None] = ContextVar("ticktree_trace", default=None)
_trace_id = ""


def from_fields(fields: Iterable[tuple[str, str]]) -> TraceContext | None:
    """Return the trace of a request, given its header fields with lower-case names; see `from_headers`.

    The state may be in several fields. A request with two traces has none.
    """
    values: dict[str, str] = {}
    for name, value in fields:
        if name in (TRACEPARENT, TRACESTATE):
            values[name] = f"{values[name]},{value}" if name in values else value
    return from_headers(values.get(TRACEPARENT), values.get(TRACESTATE))


def from_headers(traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
    """Return the trace of an incoming request; None if it has none, or if it violates the W3C's specification."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent.strip()):
        return None
    state = (tracestate or "").strip()
    is_valid = len(state) <= _MAX_STATE and state.isascii() and state.isprintable()
    return TraceContext(traceparent.strip(), state if is_valid else "")


def begin() -> None:
    """Put calls that belong to no trace into this run's trace."""
    global _trace_id
    inherited = os.environ.get(TRACE_VARIABLE, "")
    _trace_id = inherited if _TRACE.fullmatch(inherited) else os.urandom(16).hex()
    os.environ[TRACE_VARIABLE] = _trace_id


def end() -> None:
    """Begin no more traces."""
    global _trace_id
    _trace_id = ""
    os.environ.pop(TRACE_VARIABLE, None)


def outgoing() -> TraceContext | None:
    """Return the trace that a call without one should carry; None if it belongs to no trace."""
    context = incoming.get()
    if context is not None or not _trace_id:
        return context
    # Not sampled: ticktree keeps no span of it.
    return TraceContext(f"00-{_trace_id}-{os.urandom(8).hex()}-00")
