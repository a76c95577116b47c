"""HTTP clients: each request, what the servers say of it, and the trace that it carries. requests, httpx, aiohttp."""

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


def _sent(
    recorder: Recorder,
    send: Callable[..., Any],
    section_of: Callable[[LibraryCalls, Any], Section],
    answers_in: Callable[[Any], Iterable[Any]],
) -> Callable[..., Any]:
    """Return what is called in place of a client's `send(self, request, **kwargs)`: the same, as a call of a server.

    The servers of the answers that a response holds say what they did.
    """
    calls = LibraryCalls(recorder, send)

    def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
        if not recorder.recording:
            return send(self, request, **kwargs)
        with section_of(calls, request):
            call = RemoteCall(recorder)
            _carry(request.headers)
            response = send(self, request, **kwargs)
            call.answered(server_timings(answers_in(response)))
            return response

    return wrapper


def _carry(headers: Any) -> None:
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


# -- requests ----------------------------------------------------------------------------------------------------


def _wrap_session(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """All that requests does goes through `Session.send`."""

    def section_of(calls: LibraryCalls, request: Any) -> Section:
        url = urlsplit(str(request.url))
        return calls.section(str(request.method), url.netloc.rpartition("@")[2], url.path)

    def answers(response: Any) -> list[Any]:
        # Each further exchange of a redirect is sent from within `send`, and has its own section.
        return [response.history[0] if response.history else response]

    patches.wrap(module, "Session.send", lambda send: _sent(recorder, send, section_of, answers))


# -- httpx -------------------------------------------------------------------------------------------------------


def _wrap_clients(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """All that httpx does, redirects and authentication included, goes through `Client.send` or `AsyncClient.send`."""

    def section_of(calls: LibraryCalls, request: Any) -> Section:
        url = request.url
        host = url.netloc.decode("ascii", "replace").rpartition("@")[2]
        return calls.section(request.method, host, url.path)

    def make_async(send: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, send)

        async def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await send(self, request, **kwargs)
            with section_of(calls, request):
                call = RemoteCall(recorder)
                _carry(request.headers)
                response = await send(self, request, **kwargs)
                call.answered(server_timings(_whole_history(response)))
                return response

        return wrapper

    patches.wrap(module.Client, "send", lambda send: _sent(recorder, send, section_of, _whole_history))
    patches.wrap(module.AsyncClient, "send", make_async)


def _whole_history(response: Any) -> list[Any]:
    return [*response.history, response]


# -- aiohttp -----------------------------------------------------------------------------------------------------


def _wrap_requests(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """A request lasts until its answer's headers are there: the reading of its body is apart."""

    def make(request: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, request)

        async def wrapper(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return await request(self, method, str_or_url, **kwargs)
            with _section_in(calls, self, method, str_or_url):
                call = RemoteCall(recorder)
                _carry_in(self, kwargs)
                response = await request(self, method, str_or_url, **kwargs)
                call.answered(server_timings(_whole_history(response)))
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


def _section_in(calls: LibraryCalls, session: Any, method: str, str_or_url: Any) -> Section:
    try:
        url = session._build_url(str_or_url)
        host, port = url.host or "", url.port
        host = f"[{host}]" if ":" in host else host
        return calls.section(
            method, host if url.is_default_port() or port is None else f"{host}:{port}", url.path
        )
    except Exception:  # what it is, the request itself says best
        return calls.named(f"{method.upper()[:16]} (no URL)")


def _carry_in(session: Any, kwargs: dict[str, Any]) -> None:
    """Adds the trace that a request belongs to, where neither its headers nor its session's say one."""
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
