"""HTTP clients (requests, httpx, aiohttp): requests, the times that servers report, and traces in headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Section
from ticktree.remote.requests import LibraryCalls, RemoteCall
from ticktree.remote.server_timing import HEADER
from ticktree.remote.trace_context import TRACEPARENT, outgoing


def _make_send(
    recorder: Recorder,
    send: Callable[..., Any],
    find_section: Callable[[LibraryCalls, Any], Section],
    find_answers: Callable[[Any], Iterable[Any]],
) -> Callable[..., Any]:
    """Return a client's `send(self, request, **kwargs)` as a remote call.

    `find_answers` returns the answers in a response, whose servers may report their times.
    """
    calls = LibraryCalls(recorder, send)

    def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
        if not recorder.recording:
            return send(self, request, **kwargs)
        with find_section(calls, request):
            call = RemoteCall(recorder)
            _add_trace(request.headers)
            response = send(self, request, **kwargs)
            call.add_server_timings(server_timings(find_answers(response)))
            return response

    return wrapper


def _add_trace(headers: Any) -> None:
    """Add a request's trace to its headers, unless they name one."""
    context = outgoing()
    if context is not None and TRACEPARENT not in headers:
        for name, value in context.headers():
            headers[name] = value


def server_timings(answers: Iterable[Any]) -> list[str | None]:
    """Return the `Server-Timing` of each answer, joined if it has several; None if it has none."""
    timings: list[str | None] = []
    for answer in answers:
        headers = answer.headers
        get_all = getattr(headers, "getall", None)
        values = get_all(HEADER, ()) if get_all is not None else filter(None, (headers.get(HEADER),))
        # A mock in a program's tests may return anything.
        timings.append(", ".join(value for value in values if isinstance(value, str)) or None)
    return timings


# -- requests ----------------------------------------------------------------------------------------------------


def _wrap_session(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `Session.send`, which makes all of requests' calls."""

    def find_section(calls: LibraryCalls, request: Any) -> Section:
        url = urlsplit(str(request.url))
        return calls.section(str(request.method), url.netloc.rpartition("@")[2], url.path)

    def find_answers(response: Any) -> list[Any]:
        # `send` calls itself for each further exchange of a redirect, in a section of its own.
        return [response.history[0] if response.history else response]

    patches.wrap(module, "Session.send", lambda send: _make_send(recorder, send, find_section, find_answers))


# -- httpx -------------------------------------------------------------------------------------------------------


def _wrap_clients(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `Client.send` and `AsyncClient.send`, which make all calls, for redirects and authentication too."""

    def find_section(calls: LibraryCalls, request: Any) -> Section:
        url = request.url
        host = url.netloc.decode("ascii", "replace").rpartition("@")[2]
        return calls.section(request.method, host, url.path)

    def make_async(send: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, send)

        async def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await send(self, request, **kwargs)
            with find_section(calls, request):
                call = RemoteCall(recorder)
                _add_trace(request.headers)
                response = await send(self, request, **kwargs)
                call.add_server_timings(server_timings(_all_answers(response)))
                return response

        return wrapper

    patches.wrap(module.Client, "send", lambda send: _make_send(recorder, send, find_section, _all_answers))
    patches.wrap(module.AsyncClient, "send", make_async)


def _all_answers(response: Any) -> list[Any]:
    return [*response.history, response]


# -- aiohttp -----------------------------------------------------------------------------------------------------


def _wrap_requests(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap requests, which last until the answer's headers arrive: reading the body is separate."""

    def make(request: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, request)

        async def wrapper(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await request(self, method, str_or_url, **kwargs)
            with _session_section(calls, self, method, str_or_url):
                call = RemoteCall(recorder)
                _add_trace_to_session(self, kwargs)
                response = await request(self, method, str_or_url, **kwargs)
                call.add_server_timings(server_timings(_all_answers(response)))
                return response

        return wrapper

    patches.wrap(module.ClientSession, "_request", make)


def _wrap_reading(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        section = LibraryCalls(recorder, read).named("ClientResponse.read")

        async def wrapper(self: Any) -> Any:
            if self._body is not None:  # read already
                return await read(self)
            with section:
                return await read(self)

        return wrapper

    patches.wrap(module.ClientResponse, "read", make)


def _session_section(calls: LibraryCalls, session: Any, method: str, str_or_url: Any) -> Section:
    try:
        url = session._build_url(str_or_url)
        host = url.host or ""
        host = f"[{host}]" if ":" in host else host
        if url.port is not None and not url.is_default_port():
            host = f"{host}:{url.port}"
        return calls.section(method, host, url.path)
    except Exception:  # the request itself reports the error
        return calls.named(f"{method.upper()[:16]} (no URL)")


def _add_trace_to_session(session: Any, kwargs: dict[str, Any]) -> None:
    """Add a request's trace, unless its headers or its session's name one."""
    context = outgoing()
    if context is None:
        return
    headers = session._prepare_headers(kwargs.get("headers"))
    if TRACEPARENT not in headers:
        headers.update(context.headers())
        kwargs["headers"] = headers


REQUESTS = Instrument("requests", hooks={"requests.sessions": _wrap_session})
HTTPX = Instrument("httpx", hooks={"httpx._client": _wrap_clients})
AIOHTTP = Instrument(
    "aiohttp", hooks={"aiohttp.client": _wrap_requests, "aiohttp.client_reqrep": _wrap_reading}
)
