"""What the instruments of HTTP clients share: the trace that a call carries, and the headers of its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ticktree.remote import HEADER
from ticktree.remote.trace_context import TRACEPARENT, outgoing


def carry(headers: Any) -> None:
    """Adds to a request's headers the trace that it belongs to, where they say none."""
    context = outgoing()
    if context is not None and TRACEPARENT not in headers:
        for name, value in context.headers():
            headers[name] = value


def said_in(answers: Iterable[Any]) -> list[str | None]:
    """Return the `Server-Timing` of each answer; None where it has none. `headers` may hold several of the name."""
    said: list[str | None] = []
    for answer in answers:
        headers = answer.headers
        every = getattr(headers, "getall", None)
        values = every(HEADER, ()) if every is not None else filter(None, (headers.get(HEADER),))
        said.append(", ".join(values) or None)
    return said
