"""gRPC servers: `grpc.server(pool, interceptors=[ticktree.remote.grpc.server_timing()])`, and the same with `aio_`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from time import perf_counter_ns
from typing import Any

import grpc
import grpc.aio

from ticktree.recorder import Section, drop_own_frames
from ticktree.recorder.wrapping import without_own_frames
from ticktree.remote.requests import Requests, Served, elapsed_ns
from ticktree.remote.server_timing import METADATA_KEY
from ticktree.remote.trace_context import TraceContext, from_fields


def server_timing() -> grpc.ServerInterceptor:
    """Return an interceptor that reports the times of each call in its trailing metadata.

    Each call is a section named by its method, `/package.Service/Method`, including its wait for a thread of the pool.
    For a stream of responses, the time to make them counts. While ticktree does not record, it does nothing.
    """
    return _Interceptor()


def aio_server_timing() -> grpc.aio.ServerInterceptor:
    """Return the same for a server of `grpc.aio`, where the wait of a call is unknown."""
    return _AioInterceptor()


class _Interceptor(grpc.ServerInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self._requests = Requests(server_timing)

    @without_own_frames
    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = continuation(details)
        if handler is None or not self._requests.recorder.recording:
            return handler
        return _with_behaviour(handler, _sync(self._requests, details, handler))


class _AioInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self._requests = Requests(aio_server_timing)

    @without_own_frames
    async def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = await continuation(details)
        if handler is None or not self._requests.recorder.recording:
            return handler
        return _with_behaviour(handler, _aio(self._requests, details, handler))


def _kind(handler: Any) -> str:
    """Return gRPC's name for whether requests and responses are streams."""
    streams_requests, streams_responses = handler.request_streaming, handler.response_streaming
    return f"{'stream' if streams_requests else 'unary'}_{'stream' if streams_responses else 'unary'}"


def _with_behaviour(handler: Any, behaviour: Any) -> Any:
    make = getattr(grpc, f"{_kind(handler)}_rpc_method_handler")
    return make(behaviour, handler.request_deserializer, handler.response_serializer)


def _context(details: Any) -> TraceContext | None:
    return from_fields(details.invocation_metadata or ())


def _send_timing(context: Any, served: Served) -> None:
    """Add the report to the handler's own metadata."""
    timing = served.server_timing()
    metadata = getattr(
        context, "trailing_metadata", None
    )  # a context that does not show its metadata may have some: it is not replaced
    if timing is not None and metadata is not None:
        context.set_trailing_metadata((*(metadata() or ()), (METADATA_KEY, timing)))


def _sync(requests: Requests, details: Any, handler: Any) -> Callable[[Any, Any], Any]:
    began_ns = perf_counter_ns()
    behaviour, name, trace = getattr(handler, _kind(handler)), details.method, _context(details)

    def unary(request: Any, context: Any) -> Any:
        queued_ns = elapsed_ns(began_ns)
        with requests.named(name), Served(requests.recorder, name, queued_ns, trace) as served:
            try:
                return behaviour(request, context)
            finally:
                _send_timing(context, served)

    def stream(request: Any, context: Any) -> Iterator[Any]:
        # Not a generator: an error of the handler's call must come from this call, because gRPC distinguishes the two.
        queued_ns = elapsed_ns(began_ns)
        section = requests.named(name)
        with section, Served(requests.recorder, name, queued_ns, trace) as served:
            try:
                responses = behaviour(request, context)
            except BaseException:
                _send_timing(context, served)
                raise
        return following(context, section, served, responses)

    @without_own_frames
    def following(context: Any, section: Section, served: Served, responses: Iterator[Any]) -> Iterator[Any]:
        try:
            while True:
                with section, served.reenter():
                    try:
                        response = next(responses)
                    except StopIteration:
                        return
                yield response
        finally:
            _send_timing(context, served)
            close = getattr(responses, "close", None)
            if close is not None:
                close()

    return without_own_frames(stream if handler.response_streaming else unary)


def _aio(requests: Requests, details: Any, handler: Any) -> Callable[[Any, Any], Any]:
    behaviour, name, trace = getattr(handler, _kind(handler)), details.method, _context(details)

    @without_own_frames
    async def unary(request: Any, context: Any) -> Any:
        with requests.named(name), Served(requests.recorder, name, None, trace) as served:
            try:
                return await behaviour(request, context)
            finally:
                _send_timing(context, served)

    async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
        section = requests.named(name)
        with section, Served(requests.recorder, name, None, trace) as served:
            responses = behaviour(request, context)
        try:
            while True:
                with section, served.reenter():
                    try:
                        response = await responses.__anext__()
                    except StopAsyncIteration:
                        return
                yield response
        except BaseException:
            drop_own_frames()
            raise
        finally:
            _send_timing(context, served)
            await responses.aclose()

    if inspect.isasyncgenfunction(behaviour):
        return stream
    if inspect.iscoroutinefunction(
        behaviour
    ):  # also a handler that writes its stream of responses: it is one call
        return unary
    return _sync(requests, details, handler)  # which the server runs on a thread
