"""ASGI applications (Starlette, FastAPI, Django, Quart, ...): `app = ticktree.remote.asgi.AsgiServerTiming(app)`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ticktree.recorder import drop_own_frames
from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served
from ticktree.remote.trace_context import TraceContext, from_fields

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class AsgiServerTiming:
    """An ASGI application that reports the times of each request in its response's `Server-Timing`.

    Each request is a section such as `POST /step`. The header has the times until the response began: a streamed body
    is made later. While ticktree does not record, it does nothing.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self._requests = Requests(app)

    # Exactly these arguments: servers inspect them to learn what kind of application it is.
    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        try:
            if scope["type"] != "http" or not self._requests.recorder.recording:
                await self.app(scope, receive, send)
            else:
                await self._serve(scope, receive, send)
        except BaseException:
            drop_own_frames()
            raise

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        requests = self._requests
        name = requests.name(scope["method"], scope["path"])
        queued_ns = _queued_ns(requests)
        with requests.named(name), Served(requests.recorder, name, queued_ns, _context(scope)) as served:

            @without_own_frames
            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    timing = served.server_timing()
                    if timing is not None:
                        field = (b"server-timing", timing.encode("ascii"))
                        message = {**message, "headers": [*message.get("headers", ()), field]}
                await send(message)

            await self.app(scope, receive, sending)


def _context(scope: Message) -> TraceContext | None:
    return from_fields(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in scope["headers"]
        if name.startswith(b"trace")
    )


# Coroutines of servers that make a task for each request: until the task runs, the request waits.
_TASKS = frozenset(("RequestResponseCycle.run_asgi",))


def _queued_ns(requests: Requests) -> int | None:
    """Return how long the server's task for the request waited; None if unknown."""
    task = asyncio.current_task()
    coroutine = task.get_coro() if task is not None else None
    if getattr(coroutine, "__qualname__", "") not in _TASKS:
        return None
    origin = requests.recorder.origin_var.get(None)
    return origin.age_ns if origin is not None and origin.recorder is requests.recorder else None
