"""aiohttp servers: `web.Application(middlewares=[ticktree.remote.aiohttp.server_timing()])`."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any

from aiohttp import web, web_protocol

from ticktree.recorder import OWN
from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served, elapsed_ns
from ticktree.remote.server_timing import HEADER
from ticktree.remote.trace_context import from_fields

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def server_timing() -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Return a middleware that reports the times of each request in its `Server-Timing`; best as the first of all.

    Each request is a section named by its route, `POST /cars/{id}`, including its wait since its first bytes arrived.
    A response that the handler itself begins to send (a stream, a websocket) has no report. While ticktree does not
    record, it does nothing.
    """
    requests = Requests(server_timing)
    _note_arrivals()

    @web.middleware
    @without_own_frames
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        arrived_ns = _arrival_ns.pop(id(request.protocol), None)
        if not requests.recorder.recording:
            return await handler(request)
        name = _name(requests, request)
        context = from_fields((field.lower(), value) for field, value in request.headers.items())
        response: Any = None
        error: web.HTTPException | None = None
        queued_ns = elapsed_ns(arrived_ns)
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


# By connection: when the first bytes of its next request arrived.
_arrival_ns: dict[int, int] = {}


def _note_arrivals() -> None:
    """Note when requests arrive: those of one event loop wait for each other. Done once, and never undone."""
    kind: Any = web_protocol.RequestHandler
    received, lost = kind.data_received, kind.connection_lost
    if hasattr(received, "__wrapped__") or "_waiter" not in getattr(kind, "__slots__", ()):
        return

    @functools.wraps(received)
    @without_own_frames
    def data_received(self: Any, data: bytes) -> None:
        # Only if the connection waits for a request: other bytes belong to the request that is being served.
        if self._waiter is not None and not self._waiter.done() and OWN.recording:
            _arrival_ns[id(self)] = perf_counter_ns()
        received(self, data)

    @functools.wraps(lost)
    @without_own_frames
    def connection_lost(self: Any, error: BaseException | None) -> None:
        _arrival_ns.pop(id(self), None)
        lost(self, error)

    kind.data_received, kind.connection_lost = data_received, connection_lost
