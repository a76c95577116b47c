"""A server that asks another: its report holds what it was told, and a trace goes all the way."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("aiohttp")

SERVER = """
    import aiohttp
    from aiohttp import web

    async def step(request):
        work()
        return web.json_response({name: request.headers.get(name) for name in ("traceparent", "tracestate")})

    async def relay(request):
        async with aiohttp.ClientSession() as session:
            async with session.get(request.query["to"]) as response:
                return web.json_response(await response.json())

    serve_by_aiohttp(web.get("/step", step), web.get("/relay", relay))
"""

CLIENT = """
import asyncio, json, sys
import aiohttp

async def main():
    async with aiohttp.ClientSession() as session:
        headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "vendor=1"}
        async with session.get(sys.argv[1], params={"to": sys.argv[2]}, headers=headers) as response:
            answers = [await response.json()]
        async with session.get(sys.argv[1], params={"to": sys.argv[2]}) as response:
            return [*answers, await response.json()]

print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.slow
def test_a_call_through_a_relay_shows_both_servers_and_carries_the_trace(programs):
    far, near = programs.serve(SERVER, "far"), programs.serve(SERVER, "near")
    urls = [f"http://127.0.0.1:{near.port}/relay", f"http://127.0.0.1:{far.port}/step"]
    asked = programs.run("client", CLIENT, *urls)
    traced, untraced = json.loads(asked.output)
    assert traced == {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": "vendor=1",
    }
    assert untraced == {
        "traceparent": None,
        "tracestate": None,
    }  # of another request: nothing is left of the first
    call = asked.profile.root.children[f"GET 127.0.0.1:{near.port}/relay"]
    relay = call.children["server@remote"]
    below = relay.children[f"GET 127.0.0.1:{far.port}/step@remote"]
    assert {"server@remote", "network@remote"} <= below.children.keys()
    simulate = below.children["server@remote"].children["simulate@remote"]
    assert simulate.count == 2
    assert relay.total_ns >= below.total_ns >= simulate.total_ns
