"""httpx: each request of a client, redirects and authentication included, and what the servers say of it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.remote_calls import carry, sent, server_timings
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Section
from ticktree.remote.requests import LibraryCalls, RemoteCall


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps `Client.send` and `AsyncClient.send` when httpx is imported: all that httpx does goes through them."""

    def make_async(send: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, send)

        async def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await send(self, request, **kwargs)
            with _section(calls, request):
                call = RemoteCall(recorder)
                carry(request.headers)
                response = await send(self, request, **kwargs)
                call.answered(server_timings(_answers(response)))
                return response

        return wrapper

    patches.wrap(module.Client, "send", lambda send: sent(recorder, send, _section, _answers))
    patches.wrap(module.AsyncClient, "send", make_async)


def _section(calls: LibraryCalls, request: Any) -> Section:
    url = request.url
    return calls.section(request.method, url.netloc.decode("ascii", "replace").rpartition("@")[2], url.path)


def _answers(response: Any) -> list[Any]:
    return [*response.history, response]


INSTRUMENT = Instrument("httpx", hooks={"httpx._client": _wrap})
