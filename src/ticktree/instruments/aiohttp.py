"""aiohttp's client: each request until its answer's headers are there, and the reading of its body apart."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.remote_calls import server_timings
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Section
from ticktree.remote.requests import LibraryCalls, RemoteCall
from ticktree.remote.trace_context import TRACEPARENT, outgoing


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps the client when it is imported."""

    def make(request: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, request)

        async def wrapper(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await request(self, method, str_or_url, **kwargs)
            with _section(calls, self, method, str_or_url):
                call = RemoteCall(recorder)
                _carry(self, kwargs)
                response = await request(self, method, str_or_url, **kwargs)
                call.answered(server_timings((*response.history, response)))
                return response

        return wrapper

    patches.wrap(module.ClientSession, "_request", make)


def _wrap_reading(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        section = LibraryCalls(recorder, read).named("ClientResponse.read")

        async def wrapper(self: Any) -> bytes:
            if self._body is not None:  # read already
                return await read(self)  # type: ignore[no-any-return]
            with section:
                return await read(self)  # type: ignore[no-any-return]

        return wrapper

    patches.wrap(module.ClientResponse, "read", make)


def _section(calls: LibraryCalls, session: Any, method: str, str_or_url: Any) -> Section:
    try:
        url = session._build_url(str_or_url)
        host, port = url.host or "", url.port
        host = f"[{host}]" if ":" in host else host
        return calls.section(
            method, host if url.is_default_port() or port is None else f"{host}:{port}", url.path
        )
    except Exception:  # what it is, the request itself says best
        return calls.named(f"{method.upper()[:16]} (no URL)")


def _carry(session: Any, kwargs: dict[str, Any]) -> None:
    """Adds the trace that a request belongs to, where neither its headers nor its session's say one."""
    context = outgoing()
    if context is None:
        return
    headers = session._prepare_headers(kwargs.get("headers"))
    if TRACEPARENT not in headers:
        headers.update(context.headers())
        kwargs["headers"] = headers


INSTRUMENT = Instrument("aiohttp", hooks={"aiohttp.client": _wrap, "aiohttp.client_reqrep": _wrap_reading})
