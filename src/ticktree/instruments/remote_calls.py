"""What the instruments of HTTP clients share: a request that is sent, its trace, and the headers of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ticktree.recorder import Recorder, Section
from ticktree.remote import HEADER
from ticktree.remote.requests import LibraryCalls, RemoteCall
from ticktree.remote.trace_context import TRACEPARENT, outgoing


def sent(
    recorder: Recorder,
    send: Callable[..., Any],
    section_of: Callable[[LibraryCalls, Any], Section],
    answers_in: Callable[[Any], Iterable[Any]],
) -> Callable[..., Any]:
    """Return what is called in place of a client's `send(self, request, **kwargs)`: the same, as a call of a server.

    Args:
        recorder: What records.
        send: The client's method.
        section_of: Of a request.
        answers_in: The answers that a response holds, whose servers say what they did.
    """
    calls = LibraryCalls(recorder, send)

    def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
        if not recorder.recording:
            return send(self, request, **kwargs)
        with section_of(calls, request):
            call = RemoteCall(recorder)
            carry(request.headers)
            response = send(self, request, **kwargs)
            call.answered(server_timings(answers_in(response)))
            return response

    return wrapper


def carry(headers: Any) -> None:
    """Adds to a request's headers the trace that it belongs to, where they say none."""
    context = outgoing()
    if context is not None and TRACEPARENT not in headers:
        for name, value in context.headers():
            headers[name] = value


def server_timings(answers: Iterable[Any]) -> list[str | None]:
    """Return the `Server-Timing` of each answer; None where it has none. `headers` may hold several of the name."""
    timings: list[str | None] = []
    for answer in answers:
        headers = answer.headers
        every = getattr(headers, "getall", None)
        values = every(HEADER, ()) if every is not None else filter(None, (headers.get(HEADER),))
        # A library's mock, as tests of programs have them, may give anything.
        timings.append(", ".join(value for value in values if isinstance(value, str)) or None)
    return timings
