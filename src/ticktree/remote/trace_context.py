"""W3C trace context: passed on unchanged, begun only on request.

A request that ticktree's server side serves may carry a `traceparent`. What is called while it is served belongs to
the same trace, and is given it unchanged: ticktree's sections are not spans that a backend could look up.
Libraries that set one themselves, above all OpenTelemetry, keep theirs.
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

# Later versions may say more: of that, what every library takes in a header, and no more than headers have room for.
_TRACEPARENT = re.compile(
    r"(?!ff)(?!00.{53}-)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{0,200})?"
)
_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_LONGEST_STATE = 512  # what every implementation must pass on


class TraceContext(NamedTuple):
    """What a request carries."""

    traceparent: str
    tracestate: str = ""

    def headers(self) -> Iterator[tuple[str, str]]:
        """Yield the headers that say it."""
        yield TRACEPARENT, self.traceparent
        if self.tracestate:
            yield TRACESTATE, self.tracestate


incoming: ContextVar[TraceContext | None] = ContextVar("ticktree_trace", default=None)
_begun = ""


def came_with(fields: Iterable[tuple[str, str]]) -> TraceContext | None:
    """Return what a request carries by its header's fields, whose names are in small letters; else as `came`.

    A state may come in several fields. Two traces are none.
    """
    found: dict[str, str] = {}
    for name, value in fields:
        if name in (TRACEPARENT, TRACESTATE):
            found[name] = f"{found[name]},{value}" if name in found else value
    return came(found.get(TRACEPARENT), found.get(TRACESTATE))


def came(traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
    """Return what an incoming request carries; None where that is nothing, or not as the W3C wants it."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent.strip()):
        return None
    state = (tracestate or "").strip()
    fit = len(state) <= _LONGEST_STATE and state.isascii() and state.isprintable()
    return TraceContext(traceparent.strip(), state if fit else "")


def begin() -> None:
    """From now on calls that belong to no trace belong to this run's."""
    global _begun
    given = os.environ.get(TRACE_VARIABLE, "")
    _begun = given if _TRACE.fullmatch(given) else os.urandom(16).hex()
    os.environ[TRACE_VARIABLE] = _begun


def end() -> None:
    """No more traces are begun."""
    global _begun
    _begun = ""
    os.environ.pop(TRACE_VARIABLE, None)


def outgoing() -> TraceContext | None:
    """Return what a call that carries none is to carry; None where it belongs to no trace."""
    context = incoming.get()
    if context is not None or not _begun:
        return context
    # Not sampled: no span of it is kept here.
    return TraceContext(f"00-{_begun}-{os.urandom(8).hex()}-00")
