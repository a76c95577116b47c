"""WSGI applications (Flask, Django, Bottle, ...): `app = ticktree.remote.wsgi.WsgiServerTiming(app)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served
from ticktree.remote.server_timing import HEADER
from ticktree.remote.trace_context import came

Start = Callable[..., Any]
Application = Callable[[dict[str, Any], Start], Iterable[bytes]]


class WsgiServerTiming:
    """A WSGI application that says in each response's `Server-Timing` what took how long.

    Each request is a section `POST /step`. The header has what was known when the application began its
    response. Nothing is done while nothing is recorded.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self._requests = Requests(app)

    @without_own_frames
    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        """Serves one request."""
        requests = self._requests
        if not requests.recorder.recording:
            return self.app(environ, start_response)
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        name = requests.name(environ.get("REQUEST_METHOD", "GET"), path)
        context = came(environ.get("HTTP_TRACEPARENT"), environ.get("HTTP_TRACESTATE"))
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
        # One that has begun its response keeps its own type: servers look at it. Of one that has not, a generator
        # most likely, the work is yet to come.
        return body if started else _Later(body, requests, name, served)


class _Later:
    """A body whose application runs while it is read."""

    def __init__(self, body: Iterable[bytes], requests: Requests, name: str, served: Served) -> None:
        self._body = body
        self._rest: Iterator[bytes] | None = None
        self._section = requests.named(name)
        self._served = served

    def __iter__(self) -> _Later:
        return self

    @without_own_frames
    def __next__(self) -> bytes:
        with self._section, self._served.again():
            if self._rest is None:
                self._rest = iter(self._body)
            return next(self._rest)

    @without_own_frames
    def close(self) -> None:
        """Closes the body, as servers do when all is sent."""
        close = getattr(self._body, "close", None)
        if close is not None:
            close()
