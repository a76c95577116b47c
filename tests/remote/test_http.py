"""HTTP servers and clients, in processes of their own: a call splits into network, queue and the server's work."""

from __future__ import annotations

import json

import pytest

SERVERS = {
    "aiohttp": """
        from aiohttp import web

        async def step(request):
            await request.read()
            work()
            return web.json_response({"trace": request.headers.get("traceparent")})

        async def moved(request):
            raise web.HTTPTemporaryRedirect("/step")

        async def stream(request):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write_eof(b"{}")
            return response

        serve_by_aiohttp(web.post("/step", step), web.post("/moved", moved), web.post("/stream", stream))
        """,
    "asgi": """
        import socket, uvicorn
        from ticktree.remote.asgi import AsgiServerTiming

        async def app(scope, receive, send):
            if scope["type"] != "http":
                return
            more = True
            while more:
                more = (await receive()).get("more_body")
            if scope["path"] == "/moved":
                await send({"type": "http.response.start", "status": 307, "headers": [(b"location", b"/step")]})
                await send({"type": "http.response.body", "body": b""})
                return
            if scope["path"] == "/step":
                work()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            trace = dict(scope["headers"]).get(b"traceparent")
            body = b'{"trace": %s}' % (b"null" if trace is None else b'"%s"' % trace)
            await send({"type": "http.response.body", "body": body})

        listener = socket.create_server(("127.0.0.1", 0))
        listening(listener.getsockname()[1])
        uvicorn.Server(uvicorn.Config(AsgiServerTiming(app), log_level="error", lifespan="off")).run([listener])
        """,
    "wsgi": """
        import json
        from wsgiref.simple_server import WSGIRequestHandler, make_server
        from ticktree.remote.wsgi import WsgiServerTiming

        def app(environ, start_response):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            if environ["PATH_INFO"] == "/moved":
                start_response("307 Moved", [("Location", "/step"), ("Content-Length", "0")])
                return [b""]
            if environ["PATH_INFO"] == "/step":
                work()
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"trace": environ.get("HTTP_TRACEPARENT")}).encode()]

        class Silent(WSGIRequestHandler):
            def log_message(self, *args):
                pass

        with make_server("127.0.0.1", 0, WsgiServerTiming(app), handler_class=Silent) as server:
            listening(server.server_port)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                pass
        """,
}

CLIENTS = {
    "requests": """
        import requests

        def ask(url, **headers):
            response = session.post(url, data=b"x", headers=headers)
            return response.json() if response.content else None

        with requests.Session() as session:
            main(ask)
        """,
    "httpx": """
        import httpx

        def ask(url, **headers):
            response = client.post(url, content=b"x", headers=headers, follow_redirects=True)
            return response.json() if response.content else None

        with httpx.Client() as client:
            main(ask)
        """,
    "httpx-async": """
        import asyncio, httpx

        async def all_of_it():
            async with httpx.AsyncClient() as client:
                for _ in ticktree.loop("drive", range(STEPS)):
                    for url in URLS:
                        response = await client.post(url, content=b"x", headers=HEADERS, follow_redirects=True)
                        answers.append(response.json() if response.content else None)

        asyncio.run(all_of_it())
        """,
    "aiohttp": """
        import asyncio, aiohttp

        async def all_of_it():
            async with aiohttp.ClientSession() as session:
                for _ in ticktree.loop("drive", range(STEPS)):
                    for url in URLS:
                        async with session.post(url, data=b"x", headers=HEADERS) as response:
                            answers.append(await response.json(content_type=None))

        asyncio.run(all_of_it())
        """,
}

STEPS = 5
CLIENT = f"""
import json, sys, ticktree
STEPS, URLS, HEADERS = {STEPS}, sys.argv[2:], json.loads(sys.argv[1])
answers = []

def main(ask):
    for _ in ticktree.loop("drive", range(STEPS)):
        for url in URLS:
            answers.append(ask(url, **HEADERS))
"""
END = """
print(json.dumps(answers))
"""
MODULES = {"httpx-async": "httpx", "asgi": "uvicorn"}


def client(kind):
    import textwrap

    return CLIENT + textwrap.dedent(CLIENTS[kind]) + END


def need(*kinds):
    for kind in kinds:
        if kind != "wsgi":
            pytest.importorskip(MODULES.get(kind, kind))


def drive(programs, server, kind, *paths, headers=None, auto="default"):
    urls = [f"http://127.0.0.1:{server.port}{path}" for path in paths]
    return programs.run("client", client(kind), json.dumps(headers or {}), *urls, auto=auto)


def children(node):
    return {child.key: child for child in node.children.values()}


def check_split(call, calls):
    """The network and the server's rows are all that a call was, and add up."""
    assert call.count == calls
    assert call.wait
    below = children(call)
    assert {"server@remote", "network@remote"} <= below.keys()
    server = below["server@remote"]
    assert server.count == below["network@remote"].count == calls
    assert server.total_ns + below["network@remote"].total_ns <= call.total_ns
    return server


# Each server and each client once; the rest is slow.
PAIRS = [("aiohttp", "aiohttp"), ("asgi", "httpx"), ("wsgi", "requests")]
OTHER_PAIRS = [
    ("aiohttp", "requests"),
    ("aiohttp", "httpx"),
    ("aiohttp", "httpx-async"),
    ("asgi", "httpx-async"),
]
OTHER_PAIRS += [("asgi", "requests"), ("wsgi", "aiohttp")]
ALL_PAIRS = [*PAIRS, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in OTHER_PAIRS)]


@pytest.mark.slow
@pytest.mark.parametrize(("serving", "asking"), ALL_PAIRS)
def test_a_call_splits_into_network_and_the_servers_own_sections(programs, serving, asking):
    need(serving, asking)
    server = programs.serve(SERVERS[serving])
    asked = drive(programs, server, asking, "/step")
    served = programs.stop(server)

    call = asked.profile.root.at("drive").children[f"POST 127.0.0.1:{server.port}/step"]
    far = check_split(call, STEPS)
    request = served.root.children["POST /step"]
    assert request.count == STEPS
    for name in ("simulate", "render"):
        here, there = children(far)[f"{name}@remote"], request.children[name]
        # The same durations, through two programs' own reckoning of their clocks.
        assert here.total_ns == pytest.approx(there.total_ns, rel=0.01)
        assert here.count == STEPS
    assert "collide@remote" in children(children(far)["simulate@remote"])
    assert ("queue@remote" in children(far)) == (serving != "wsgi")
    assert far.self_ns >= 0
    assert not far.parallel


@pytest.mark.slow
@pytest.mark.parametrize("asking", CLIENTS)
def test_what_is_asked_on_the_way_of_a_redirect_is_recorded_once(programs, asking):
    need("aiohttp", asking)
    server = programs.serve(SERVERS["aiohttp"])
    asked = drive(programs, server, asking, "/moved")
    served = programs.stop(server)
    assert {name: child.count for name, child in served.root.children.items()} == {
        "POST /moved": STEPS,
        "POST /step": STEPS,
    }
    calls = asked.profile.root.at("drive").children
    outer = calls[f"POST 127.0.0.1:{server.port}/moved"]
    assert outer.count == STEPS
    reports = [node for _, _, node in outer.walk() if node.key == "server@remote"]
    assert sum(node.count for node in reports) == 2 * STEPS
    simulated = [node for _, _, node in outer.walk() if node.key == "simulate@remote"]
    assert [node.count for node in simulated] == [STEPS]


@pytest.mark.slow
def test_a_response_that_was_streamed_says_nothing_and_the_call_is_a_plain_row(programs):
    need("aiohttp", "requests")
    server = programs.serve(SERVERS["aiohttp"])
    asked = drive(programs, server, "requests", "/stream")
    call = asked.profile.root.at("drive").children[f"POST 127.0.0.1:{server.port}/stream"]
    assert (call.count, call.children) == (STEPS, {})


@pytest.mark.slow
@pytest.mark.parametrize("asking", CLIENTS)
def test_nothing_is_added_to_what_a_program_sends_unless_that_is_asked_for(programs, asking):
    need("aiohttp", asking)
    server = programs.serve(SERVERS["aiohttp"])
    plain = drive(programs, server, asking, "/step")
    asked = drive(programs, server, asking, "/step", auto="default,trace-context")
    assert {answer["trace"] for answer in json.loads(plain.output)} == {None}
    traces = [answer["trace"].split("-") for answer in json.loads(asked.output)]
    assert len({trace for _, trace, _, _ in traces}) == 1
    assert len({span for _, _, span, _ in traces}) == STEPS


@pytest.mark.slow
@pytest.mark.parametrize("asking", CLIENTS)
def test_a_trace_that_the_program_has_begun_is_kept(programs, asking):
    need("aiohttp", asking)
    server = programs.serve(SERVERS["aiohttp"])
    own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    asked = drive(
        programs, server, asking, "/step", headers={"traceparent": own}, auto="default,trace-context"
    )
    assert {answer["trace"] for answer in json.loads(asked.output)} == {own}
