"""aiohttp servers: `web.Application(middlewares=[ticktree.remote.aiohttp.server_timing()])`."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any

from aiohttp import web, web_protocol

from ticktree.recorder import OWN
from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served, since
from ticktree.remote.server_timing import HEADER
from ticktree.remote.trace_context import came_with

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def server_timing() -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Return a middleware that says in each response's `Server-Timing` what took how long; the first of all, best.

    Each request is a section by its route, `POST /cars/{id}`, and has waited since its first bytes were read. A
    response that the handler has begun to send by itself (a stream, a websocket) says nothing. Nothing is done while
    nothing is recorded.
    """
    requests = Requests(server_timing)
    _note_arrivals()

    @web.middleware
    @without_own_frames
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        came_ns = _arrived.pop(id(request.protocol), None)
        if not requests.recorder.recording:
            return await handler(request)
        name = _name(requests, request)
        context = came_with((field.lower(), value) for field, value in request.headers.items())
        response: Any = None
        error: web.HTTPException | None = None
        queued_ns = since(came_ns)
        with requests.named(name), Served(requests.recorder, name, queued_ns, context) as served:
            try:
                response = await handler(request)
            except web.HTTPException as raised:  # a response too
                error = response = raised
        if isinstance(response, web.StreamResponse) and not response.prepared:
            timing = served.server_timing()
            if timing is not None:
                response.headers.add(HEADER, timing)
        if error is not None:
            try:
                raise error
            finally:
                del error, response  # or it would keep itself alive
        return response  # type: ignore[no-any-return]

    return middleware


def _name(requests: Requests, request: web.Request) -> str:
    resource = request.match_info.route.resource
    if resource is None:
        return requests.name(request.method, request.path)
    return f"{request.method} {resource.canonical}"


# By connection: when the first bytes came of the request that it is about to serve.
_arrived: dict[int, int] = {}


def _note_arrivals() -> None:
    """Requests of one event loop take turns: from its first bytes on, one waits. Done once, for good."""
    kind: Any = web_protocol.RequestHandler
    received, lost = kind.data_received, kind.connection_lost
    if hasattr(received, "__wrapped__") or "_waiter" not in getattr(kind, "__slots__", ()):
        return

    @functools.wraps(received)
    @without_own_frames
    def data_received(self: Any, data: bytes) -> None:
        # Only where it waits for a request: what comes otherwise belongs to one that is being served.
        if self._waiter is not None and not self._waiter.done() and OWN.recording:
            _arrived[id(self)] = perf_counter_ns()
        received(self, data)

    @functools.wraps(lost)
    @without_own_frames
    def connection_lost(self: Any, error: BaseException | None) -> None:
        _arrived.pop(id(self), None)
        lost(self, error)

    kind.data_received, kind.connection_lost = data_received, connection_lost
