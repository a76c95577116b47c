"""The wrapped clients of HTTP and gRPC: what goes in and comes out is as it was, and all is put back."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import SimpleNamespace

import pytest

from ticktree import Recorder
from ticktree.instrument.remote_calls import said_in

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
    instrument = import_module(f"ticktree.instrument.{library}")
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
    from ticktree.instrument import requests as instrument

    class Failing(requests.adapters.BaseAdapter):
        def send(self, request, **_):
            raise requests.ConnectTimeout("own")

        def close(self):
            pass

    instrument.install(recorder)
    try:
        with requests.Session() as session:
            session.mount("http://", Failing())
            with pytest.raises(requests.ConnectTimeout, match="own"):
                session.get("http://user:secret@nowhere:81/a/17?b=c")
    finally:
        instrument.uninstall()
    call = recorder.snapshot().root.at("GET nowhere:81\\/a\\/{}")
    assert (call.count, call.wait, call.children) == (1, True, {})
    assert call.call_site.function in ("Session.send", "send")


def test_a_client_and_its_server_in_one_stack_are_recorded_once(recorder):
    httpx = pytest.importorskip("httpx")
    from ticktree.instrument import httpx as instrument
    from ticktree.remote import wsgi

    def app(environ, start_response):
        with recorder.section("work"):
            pass
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    server = wsgi.ServerTiming(app)
    server._requests.recorder = recorder
    instrument.install(recorder)
    try:
        with httpx.Client(transport=httpx.WSGITransport(app=server)) as client:
            response = client.get("http://here/step")
    finally:
        instrument.uninstall()
    assert response.text == "done"
    assert "Server-Timing" not in response.headers
    call = recorder.snapshot().root.at("GET here\\/step")
    assert call.children.keys() == {"GET /step"}
    assert call.children["GET /step"].children.keys() == {"work"}


def test_what_is_no_text_in_a_header_says_nothing():
    answers = [
        SimpleNamespace(headers={"Server-Timing": said}) for said in (b"total;dur=1", None, "total;dur=1")
    ]
    assert said_in(answers) == [None, None, "total;dur=1"]


def test_a_url_that_is_none_is_the_librarys_own_affair(recorder):
    aiohttp = pytest.importorskip("aiohttp")
    import asyncio

    from ticktree.instrument import aiohttp as instrument

    async def ask():
        async with aiohttp.ClientSession() as session:
            await session.get("not a url")

    instrument.install(recorder)
    try:
        with pytest.raises(aiohttp.InvalidURL):
            asyncio.run(ask())
        with pytest.raises(TypeError):
            asyncio.run(wrong_call(aiohttp))
    finally:
        instrument.uninstall()


async def wrong_call(aiohttp):
    async with aiohttp.ClientSession() as session:
        await session._request()
