"""WSGI applications (Flask, Django, Bottle, ...): `app = ticktree.remote.wsgi.WsgiServerTiming(app)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served
from ticktree.remote.server_timing import HEADER
from ticktree.remote.trace_context import from_headers

Start = Callable[..., Any]
Application = Callable[[dict[str, Any], Start], Iterable[bytes]]


class WsgiServerTiming:
    """A WSGI application that reports the times of each request in its response's `Server-Timing`.

    Each request is a section such as `POST /step`. The header has the times until the application began its response.
    While ticktree does not record, it does nothing.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self._requests = Requests(app)

    @without_own_frames
    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        """Serve one request."""
        requests = self._requests
        if not requests.recorder.recording:
            return self.app(environ, start_response)
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        name = requests.name(environ.get("REQUEST_METHOD", "GET"), path)
        context = from_headers(environ.get("HTTP_TRACEPARENT"), environ.get("HTTP_TRACESTATE"))
        started = False
        with requests.named(name), Served(requests.recorder, name, context=context) as served:

            @without_own_frames
            def starting(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
                nonlocal started
                started = True
                timing = served.server_timing()
                return start_response(
                    status, headers if timing is None else [*headers, (HEADER, timing)], *error
                )

            body = self.app(environ, starting)
        # A body whose response has begun keeps its type, which servers check. Otherwise the body is probably a
        # generator, and the work is still to come.
        return body if started else _DeferredBody(body, requests, name, served)


class _DeferredBody:
    """A body whose application runs while it is read."""

    def __init__(self, body: Iterable[bytes], requests: Requests, name: str, served: Served) -> None:
        self._body = body
        self._rest: Iterator[bytes] | None = None
        self._section = requests.named(name)
        self._served = served

    def __iter__(self) -> _DeferredBody:
        return self

    @without_own_frames
    def __next__(self) -> bytes:
        with self._section, self._served.reenter():
            if self._rest is None:
                self._rest = iter(self._body)
            return next(self._rest)

    @without_own_frames
    def close(self) -> None:
        """Close the body, as servers do when everything is sent."""
        close = getattr(self._body, "close", None)
        if close is not None:
            close()
