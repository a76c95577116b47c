"""The server's side without a server: what applications say and get is as it was, but for one header."""

from __future__ import annotations

import asyncio
import threading
import wsgiref.util
import wsgiref.validate
from types import SimpleNamespace

import pytest

import ticktree
from ticktree.recorder import OWN
from ticktree.remote.asgi import AsgiServerTiming as AsgiTiming
from ticktree.remote.requests import RemoteCall
from ticktree.remote.server_timing import parse_header
from ticktree.remote.trace_context import outgoing
from ticktree.remote.wsgi import WsgiServerTiming as WsgiTiming


@pytest.fixture(autouse=True)
def recorded():
    from ticktree.session import current

    current.begin_afresh()
    yield
    OWN.disable()


def asgi(app, path="/step"):
    """Asks an ASGI application; gives the messages that it sends."""
    messages = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        messages.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(app(scope, receive, send))
    return messages


async def application(scope, receive, send):
    with ticktree.section("simulate"):
        pass
    with ticktree.section("render"):
        headers = [(b"server-timing", b"db;dur=1"), (b"x", b"y")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"done"})


def test_an_asgi_response_says_one_header_more():
    first, last = asgi(AsgiTiming(application))
    assert last == {"type": "http.response.body", "body": b"done"}
    assert first["headers"][:2] == [(b"server-timing", b"db;dur=1"), (b"x", b"y")]
    (_, said), *more = first["headers"][2:]
    assert not more
    report = parse_header(said.decode()).report
    assert report.name == "POST /step"
    assert [row.name for row in report.rows] == ["simulate", "render"]  # the second is open


def test_what_is_not_http_passes_by():
    seen = []

    async def app(scope, receive, send):
        seen.append((scope, receive, send))

    asyncio.run(AsgiTiming(app)({"type": "lifespan"}, 1, 2))
    assert seen == [({"type": "lifespan"}, 1, 2)]


def test_nothing_is_said_while_nothing_is_recorded():
    OWN.disable()
    first, _ = asgi(AsgiTiming(application))
    assert len(first["headers"]) == 2


def test_an_exception_of_the_application_is_its_own():
    async def failing(scope, receive, send):
        raise LookupError("own")

    with pytest.raises(LookupError, match="own"):
        asgi(AsgiTiming(failing))
    assert ticktree.snapshot().root.children["POST /step"].count == 1


def test_a_handler_on_a_thread_of_the_frameworks_is_in_the_report():
    """As Starlette runs handlers that are no coroutines."""
    import contextvars

    def handler():
        with ticktree.section("on a thread"):
            pass

    async def threaded(scope, receive, send):
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(handler,))
        thread.start()
        await asyncio.to_thread(thread.join)
        await asyncio.to_thread(handler)
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})

    first, _ = asgi(AsgiTiming(threaded))
    report = parse_header(dict(first["headers"])[b"server-timing"].decode()).report
    (row,) = (row for row in report.rows if row.name == "on a thread")
    assert row.concurrent_ns == row.total_ns
    assert len(report.rows) == 1 + sum(row.name != "on a thread" for row in report.rows)


def test_a_request_that_is_served_under_the_very_call_that_asks_is_not_reported():
    """A test client without a network: all is seen already."""
    with ticktree.section("call", wait=True):
        call = RemoteCall(OWN)
        first, _ = asgi(AsgiTiming(application))
        call.add_server_timings([None])
    assert [name for name, _ in first["headers"]] == [b"server-timing", b"x"]


def wsgi(app):
    """Asks a WSGI application through the standard library's own checker; gives headers and body."""
    environ = {}
    wsgiref.util.setup_testing_defaults(environ)
    environ.update(REQUEST_METHOD="GET", PATH_INFO="/step", QUERY_STRING="")
    started = []
    body = wsgiref.validate.validator(app)(environ, lambda *given: started.append(given))
    try:
        return b"".join(body), started
    finally:
        body.close()


def test_a_wsgi_response_says_one_header_more():
    def app(environ, start_response):
        with ticktree.section("simulate"):
            pass
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    body, [(status, headers)] = wsgi(WsgiTiming(app))
    assert (body, status, headers[0]) == (b"done", "200 OK", ("Content-Type", "text/plain"))
    ((name, said),) = headers[1:]
    assert name == "Server-Timing"
    assert [row.name for row in parse_header(said).report.rows] == ["simulate"]


def test_a_wsgi_application_that_is_a_generator_is_timed_while_it_runs():
    closed = []

    def app(environ, start_response):
        try:
            with ticktree.section("simulate"):
                pass
            start_response("200 OK", [("Content-Type", "text/plain")])
            yield b"one"
            with ticktree.section("later"):
                pass
            yield b"two"
        finally:
            closed.append(True)

    body, [(_, headers)] = wsgi(WsgiTiming(app))
    assert body == b"onetwo"
    assert closed == [True]
    report = parse_header(dict(headers)["Server-Timing"]).report
    assert [row.name for row in report.rows] == ["simulate"]
    assert ticktree.snapshot().root.children["GET /step"].children.keys() == {"simulate", "later"}


def test_a_wsgi_body_keeps_its_type():
    """Servers send a file, or a list of one part, in ways of their own."""
    body = [b"done"]

    def app(environ, start_response):
        start_response("200 OK", [])
        return body

    assert WsgiTiming(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda *_: None) is body


def test_a_header_of_a_server_that_is_none_of_ours_is_shown():
    with ticktree.section("foreign call", wait=True):
        call = RemoteCall(OWN)
        call.add_server_timings(["cdn;dur=0, db;dur=0.0001, total;dur=0.0002"])
    with ticktree.section("other", wait=True):
        call = RemoteCall(OWN)
        call.add_server_timings(["db;dur=53, =, broken"])
    profile = ticktree.snapshot()
    profile.check()
    far = profile.root.at("foreign call").children["server@remote"]
    assert far.total_ns == pytest.approx(200, abs=5)
    assert {child.name for child in far.children.values()} == {"cdn", "db"}
    assert "network@remote" in profile.root.at("foreign call").children
    other = profile.root.at("other")
    assert other.children.keys() == {"db@remote"}  # what else it did, and when, it does not say
    assert other.children["db@remote"].concurrent_ns == other.children["db@remote"].total_ns
    assert profile.gauges["Server-Timing/unreadable metrics"].count == 1


def test_a_server_that_says_more_than_the_call_took_is_counted():
    with ticktree.section("short call", wait=True):
        call = RemoteCall(OWN)
        call.add_server_timings(["total;dur=60000;ticktree=1, work;dur=50000;d=1"])
    profile = ticktree.snapshot()
    profile.check()
    assert profile.root.at("short call").children.keys() == {"server@remote"}
    assert profile.gauges["Server-Timing/longer than the call"].count == 1


TRACE = f"00-{'1' * 32}-{'2' * 16}-01"


def carried():
    """The trace that a call made here would carry."""
    context = outgoing()
    return context and context.traceparent


def test_what_a_wsgi_generator_calls_carries_the_requests_trace():
    seen = []

    def app(environ, start_response):
        start_response("200 OK", [])
        seen.append(carried())
        yield b"one"
        seen.append(carried())

    environ = {"HTTP_TRACEPARENT": TRACE}
    wsgiref.util.setup_testing_defaults(environ)
    body = WsgiTiming(app)(environ, lambda *_: None)
    assert next(body) == b"one"
    assert carried() is None  # between its parts the thread serves others
    assert list(body) == []
    assert (seen, carried()) == ([TRACE, TRACE], None)


class Handled:
    """What gRPC gives handlers."""

    def trailing_metadata(self):
        return ()

    def set_trailing_metadata(self, metadata):
        self.said = metadata


def streaming(behaviour, make):
    grpc = pytest.importorskip("grpc")
    from ticktree.remote import grpc as remote
    from ticktree.remote.requests import Requests

    details = SimpleNamespace(method="/cars.Cars/Drive", invocation_metadata=(("traceparent", TRACE),))
    return getattr(remote, make)(
        Requests(behaviour), details, grpc.unary_stream_rpc_method_handler(behaviour)
    )


def test_what_makes_a_stream_of_grpc_carries_the_calls_trace():
    def drive(request, context):
        yield carried()
        yield carried()

    context = Handled()
    assert list(streaming(drive, "_sync")(b"", context)) == [TRACE, TRACE]
    assert carried() is None
    assert parse_header(dict(context.said)["server-timing"]).report.name == "/cars.Cars/Drive"


def test_the_same_of_asyncio():
    async def drive(request, context):
        yield carried()
        await asyncio.sleep(0)
        yield carried()

    async def ask():
        found = [each async for each in streaming(drive, "_aio")(b"", Handled())]
        return found, carried()

    assert asyncio.run(ask()) == ([TRACE, TRACE], None)


def test_a_stream_of_grpc_that_cannot_begin_leaves_no_trace_on_its_thread():
    def refuse(request, context):
        raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        next(streaming(refuse, "_sync")(b"", Handled()))
    assert carried() is None
