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
from ticktree.remote.requests import Requests, Served, since
from ticktree.remote.server_timing import METADATA_KEY
from ticktree.remote.trace_context import TraceContext, came_with


def server_timing() -> grpc.ServerInterceptor:
    """Return an interceptor that says in each call's trailing metadata what took how long.

    Each call is a section by its method, `/package.Service/Method`, and has waited for a thread of the pool. Of a
    stream of responses, what counts is the time in which they are made. Nothing is done while nothing is recorded.
    """
    return _Interceptor()


def aio_server_timing() -> grpc.aio.ServerInterceptor:
    """Return the same for a server of `grpc.aio`. How long a call waited is not known there."""
    return _AioInterceptor()


class _Interceptor(grpc.ServerInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self._requests = Requests(server_timing)

    @without_own_frames
    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = continuation(details)
        if handler is None or not self._requests.recorder.recording:
            return handler
        return _rebuilt(handler, _sync(self._requests, details, handler))


class _AioInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self._requests = Requests(aio_server_timing)

    @without_own_frames
    async def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = await continuation(details)
        if handler is None or not self._requests.recorder.recording:
            return handler
        return _rebuilt(handler, _aio(self._requests, details, handler))


def _kind(handler: Any) -> str:
    """Return gRPC's name for whether requests and responses are streams."""
    asked, answered = handler.request_streaming, handler.response_streaming
    return f"{'stream' if asked else 'unary'}_{'stream' if answered else 'unary'}"


def _rebuilt(handler: Any, behaviour: Any) -> Any:
    make = getattr(grpc, f"{_kind(handler)}_rpc_method_handler")
    return make(behaviour, handler.request_deserializer, handler.response_serializer)


def _context(details: Any) -> TraceContext | None:
    return came_with(details.invocation_metadata or ())


def _say(context: Any, served: Served) -> None:
    """Adds to the handler's own metadata."""
    timing = served.server_timing()
    own = getattr(context, "trailing_metadata", None)  # one that does not tell may hold some: not replaced
    if timing is not None and own is not None:
        context.set_trailing_metadata((*(own() or ()), (METADATA_KEY, timing)))


def _sync(requests: Requests, details: Any, handler: Any) -> Callable[[Any, Any], Any]:
    began_ns = perf_counter_ns()
    behaviour, name, trace = getattr(handler, _kind(handler)), details.method, _context(details)

    def unary(request: Any, context: Any) -> Any:
        queued_ns = since(began_ns)
        with requests.named(name), Served(requests.recorder, name, queued_ns, trace) as served:
            try:
                return behaviour(request, context)
            finally:
                _say(context, served)

    def stream(request: Any, context: Any) -> Iterator[Any]:
        # No generator itself: what a handler raises as it is called is to be raised by the call, as gRPC tells apart.
        queued_ns = since(began_ns)
        section = requests.named(name)
        with section, Served(requests.recorder, name, queued_ns, trace) as served:
            try:
                responses = behaviour(request, context)
            except BaseException:
                _say(context, served)
                raise
        return following(context, section, served, responses)

    @without_own_frames
    def following(context: Any, section: Section, served: Served, responses: Iterator[Any]) -> Iterator[Any]:
        try:
            while True:
                with section, served.again():
                    try:
                        response = next(responses)
                    except StopIteration:
                        return
                yield response
        finally:
            _say(context, served)
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
                _say(context, served)

    async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
        section = requests.named(name)
        with section, Served(requests.recorder, name, None, trace) as served:
            responses = behaviour(request, context)
        try:
            while True:
                with section, served.again():
                    try:
                        response = await responses.__anext__()
                    except StopAsyncIteration:
                        return
                yield response
        except BaseException:
            drop_own_frames()
            raise
        finally:
            _say(context, served)
            await responses.aclose()

    if inspect.isasyncgenfunction(behaviour):
        return stream
    if inspect.iscoroutinefunction(behaviour):  # of a stream, one that writes its responses: it is one call
        return unary
    return _sync(requests, details, handler)  # which the server runs on a thread
