"""gRPC's client: calls that wait for one response, and waits for the responses of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Section
from ticktree.remote.requests import LibraryCalls, RemoteCall
from ticktree.remote.server_timing import METADATA_KEY
from ticktree.remote.trace_context import TRACEPARENT, TraceContext, outgoing


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap what channels create, below a program's own interceptors, so that no call is recorded twice."""
    for kind in (module._UnaryUnaryMultiCallable, module._StreamUnaryMultiCallable):
        _wrap_waiting(patches, recorder, kind)
    for kind in (module._MultiThreadedRendezvous, module._SingleThreadedRendezvous):
        _wrap_stream(patches, recorder, kind)


def _wrap_waiting(patches: Patches, recorder: Recorder, kind: Any) -> None:
    with_call = kind.with_call  # like `__call__`, and also returns the call with its metadata

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, function)
        returns_call = function is with_call

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return function(self, *args, **kwargs)
            with _section(calls, self._method):
                remote_call = RemoteCall(recorder)
                response, call = with_call(self, *args, **_add_trace(args, kwargs))
                remote_call.add_server_timings([_timing(call.trailing_metadata())])
                return (response, call) if returns_call else response

        return wrapper

    patches.wrap(kind, "__call__", make)
    patches.wrap(kind, "with_call", make)


def _wrap_stream(patches: Patches, recorder: Recorder, kind: Any) -> None:
    def make(next_response: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, next_response)

        def wrapper(self: Any) -> Any:
            if not recorder.recording:
                return next_response(self)
            with _section(calls, getattr(self._state, "method", None)):
                return next_response(self)

        return wrapper

    patches.wrap(kind, "_next", make)


def _wrap_aio(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    def make_init(init: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, request: Any, deadline: Any, metadata: Any, *args: Any, **kwargs: Any) -> None:
            context = outgoing() if recorder.recording and metadata is not None else None
            if context is not None:  # an interceptor may pass a list
                metadata = _with_trace(metadata, context)
            init(self, request, deadline, metadata, *args, **kwargs)
            self._ticktree_method = kwargs.get("method", args[3] if len(args) > 3 else None)

        return wrapper

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        calls = LibraryCalls(recorder, wait)

        def wrapper(self: Any) -> Any:
            method = getattr(self, "_ticktree_method", None)
            if method is None or not recorder.recording:
                return (yield from wait(self))
            with _section(calls, method):
                call = RemoteCall(recorder)
                response = yield from wait(self)
                call.add_server_timings([_timing((yield from self.trailing_metadata().__await__()))])
                return response

        return wrapper

    patches.wrap(module.UnaryUnaryCall, "__init__", make_init)
    patches.wrap(module._UnaryResponseMixin, "__await__", make_wait)


def _section(calls: LibraryCalls, method: Any) -> Section:
    """Return the section of a method, `/package.Service/Method`, of which a program has few."""
    text = method.decode("ascii", "replace") if isinstance(method, bytes) else str(method)
    return calls.named(text)


def _timing(metadata: Any) -> str | None:
    timings = [value for key, value in metadata or () if key == METADATA_KEY and isinstance(value, str)]
    return ", ".join(timings) or None


def _add_trace(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the call's keywords, with its trace in the metadata, unless that names one."""
    context = outgoing()
    if context is None or len(args) > 2:
        return kwargs
    return {**kwargs, "metadata": _with_trace(kwargs.get("metadata") or (), context)}


def _with_trace(metadata: Iterable[tuple[str, Any]], context: TraceContext) -> tuple[tuple[str, Any], ...]:
    """Return a call's metadata, with its trace, unless it names one."""
    metadata = tuple(metadata)  # once: it may be an iterator
    if any(key == TRACEPARENT for key, _ in metadata):
        return metadata
    return (*metadata, *context.headers())


INSTRUMENT = Instrument("grpcio", hooks={"grpc._channel": _wrap, "grpc.aio._call": _wrap_aio})
