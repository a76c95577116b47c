"""The wrapped clients of HTTP and gRPC: what goes in and comes out is as it was, and all is put back."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import SimpleNamespace

import pytest

from ticktree import Recorder
from ticktree.instruments import BUILT_IN
from ticktree.instruments.http_clients import server_timings

WRAPPED = [
    ("requests", "requests.sessions", "Session", "send"),
    ("httpx", "httpx", "Client", "send"),
    ("httpx", "httpx", "AsyncClient", "send"),
    ("aiohttp", "aiohttp", "ClientSession", "_request"),
    ("aiohttp", "aiohttp", "ClientResponse", "read"),
    ("grpc", "grpc._channel", "_UnaryUnaryMultiCallable", "__call__"),
    ("grpc", "grpc._channel", "_UnaryUnaryMultiCallable", "with_call"),
    ("grpc", "grpc._channel", "_StreamUnaryMultiCallable", "with_call"),
    ("grpc", "grpc._channel", "_MultiThreadedRendezvous", "_next"),
    ("grpc", "grpc.aio._call", "UnaryUnaryCall", "__init__"),
]


@pytest.mark.parametrize(("library", "module", "kind", "name"), WRAPPED)
def test_a_wrapped_function_looks_as_it_did_and_is_put_back(library, module, kind, name):
    pytest.importorskip(library)
    owner = getattr(import_module(module), kind)
    original = vars(owner)[name]
    instrument = {known.name: known for known in BUILT_IN}[library].instrument()
    instrument.install(Recorder())
    try:
        wrapped = vars(owner)[name]
        assert wrapped is not original
        assert inspect.signature(wrapped) == inspect.signature(original)
        assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(original)
        assert (wrapped.__name__, wrapped.__doc__) == (original.__name__, original.__doc__)
    finally:
        instrument.uninstall()
    assert vars(owner)[name] is original


@pytest.fixture
def recorder():
    recorder = Recorder()
    yield recorder
    recorder.disable()


def test_an_exception_of_requests_is_its_own_and_the_call_counts(recorder):
    requests = pytest.importorskip("requests")
    from ticktree.instruments.http_clients import REQUESTS as INSTRUMENT

    class Failing(requests.adapters.BaseAdapter):
        def send(self, request, **_):
            raise requests.ConnectTimeout("own")

        def close(self):
            pass

    INSTRUMENT.install(recorder)
    try:
        with requests.Session() as session:
            session.mount("http://", Failing())
            with pytest.raises(requests.ConnectTimeout, match="own"):
                session.get("http://user:secret@nowhere:81/a/17?b=c")
    finally:
        INSTRUMENT.uninstall()
    call = recorder.snapshot().root.at("GET nowhere:81\\/a\\/{}")
    assert (call.count, call.wait, call.children) == (1, True, {})
    assert call.call_site.function in ("Session.send", "send")


def test_a_client_and_its_server_in_one_stack_are_recorded_once(recorder):
    httpx = pytest.importorskip("httpx")
    from ticktree.instruments.http_clients import HTTPX as INSTRUMENT
    from ticktree.remote import wsgi

    def app(environ, start_response):
        with recorder.section("work"):
            pass
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    server = wsgi.WsgiServerTiming(app)
    server._requests.recorder = recorder
    INSTRUMENT.install(recorder)
    try:
        with httpx.Client(transport=httpx.WSGITransport(app=server)) as client:
            response = client.get("http://here/step")
    finally:
        INSTRUMENT.uninstall()
    assert response.text == "done"
    assert "Server-Timing" not in response.headers
    call = recorder.snapshot().root.at("GET here\\/step")
    assert call.children.keys() == {"GET /step"}
    assert call.children["GET /step"].children.keys() == {"work"}


def test_what_is_no_text_in_a_header_says_nothing():
    answers = [
        SimpleNamespace(headers={"Server-Timing": said}) for said in (b"total;dur=1", None, "total;dur=1")
    ]
    assert server_timings(answers) == [None, None, "total;dur=1"]


def test_a_url_that_is_none_is_the_librarys_own_affair(recorder):
    aiohttp = pytest.importorskip("aiohttp")
    import asyncio

    from ticktree.instruments.http_clients import AIOHTTP as INSTRUMENT

    async def ask():
        async with aiohttp.ClientSession() as session:
            await session.get("not a url")

    INSTRUMENT.install(recorder)
    try:
        with pytest.raises(aiohttp.InvalidURL):
            asyncio.run(ask())
        with pytest.raises(TypeError):
            asyncio.run(wrong_call(aiohttp))
    finally:
        INSTRUMENT.uninstall()


async def wrong_call(aiohttp):
    async with aiohttp.ClientSession() as session:
        await session._request()


class Answering:
    """A gRPC server's handler of any method: it gives the names in the metadata that came."""

    def __init__(self, grpc, behaviour):
        self._grpc = grpc
        self._behaviour = behaviour

    def service(self, _details):
        return self._grpc.unary_unary_rpc_method_handler(self._behaviour)


def names_in(context):
    return " ".join(
        sorted(name for name, _ in context.invocation_metadata() if name != "user-agent")
    ).encode()


@pytest.fixture
def traced(recorder):
    """A call of gRPC is made for a request that carries a trace."""
    pytest.importorskip("grpc")
    import grpc.aio

    from ticktree.instruments.grpc import INSTRUMENT
    from ticktree.remote.trace_context import TraceContext, incoming

    INSTRUMENT.install(recorder)
    token = incoming.set(TraceContext(f"00-{'1' * 32}-{'2' * 16}-00"))
    yield grpc
    incoming.reset(token)
    INSTRUMENT.uninstall()


def test_metadata_that_can_be_read_once_reach_the_server_of_grpc_beside_a_trace(traced):
    from concurrent.futures import ThreadPoolExecutor

    grpc = traced
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((Answering(grpc, lambda _, context: names_in(context)),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary("/cars.Cars/Step")
            assert call(b"", metadata=iter([("own", "1")])) == b"own traceparent"
            assert call(b"", metadata=iter([("traceparent", "mine")])) == b"traceparent"
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_interceptor_of_grpcs_asyncio_may_give_metadata_of_any_kind(traced, kind):
    import asyncio

    grpc = traced

    class Adding(grpc.aio.UnaryUnaryClientInterceptor):
        async def intercept_unary_unary(self, continuation, details, request):
            return await continuation(details._replace(metadata=kind([("own", "1")])), request)

    async def answer(_, context):
        return names_in(context)

    async def ask():
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((Answering(grpc, answer),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            target = f"127.0.0.1:{port}"
            async with grpc.aio.insecure_channel(target, interceptors=[Adding()]) as channel:
                return await channel.unary_unary("/cars.Cars/Step")(b"")
        finally:
            await server.stop(None)

    assert asyncio.run(ask()) == b"own traceparent"
