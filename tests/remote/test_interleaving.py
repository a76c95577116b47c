"""Many requests that take turns on one thread: each is told of its own sections, exactly."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("aiohttp")

SERVER = """
    import asyncio
    from aiohttp import web

    async def step(request):
        spans = {}
        for turn in range(int(request.query["turns"])):
            name = f"part {turn % 3}"
            outer = time.perf_counter_ns()
            with ticktree.section(name):
                inner = time.perf_counter_ns()
                await asyncio.sleep(0.0005)
                with ticktree.section("inside"):
                    await asyncio.sleep(0)
                shorter = time.perf_counter_ns() - inner
            least, most = spans.get(name, (0, 0))
            spans[name] = (least + shorter, most + time.perf_counter_ns() - outer)
        return web.json_response(spans)

    serve_by_aiohttp(web.get("/step", step))
"""

CLIENT = """
import asyncio, json, sys
import aiohttp

async def ask(session, turns):
    async with session.get(f"http://127.0.0.1:{sys.argv[1]}/step?turns={turns}") as response:
        return [response.headers["Server-Timing"], await response.json()]

async def main():
    async with aiohttp.ClientSession() as session:
        return await asyncio.gather(*(ask(session, turns) for turns in range(1, 33)))

print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.slow
def test_requests_that_take_turns_each_have_their_own_breakdown(programs):
    from ticktree.remote.server_timing import parse_header

    server = programs.serve(SERVER)
    asked = programs.run("client", CLIENT, server.port)
    served = programs.stop(server)
    answers = json.loads(asked.output)
    assert len(answers) == 32
    totals = {}
    for header, spans in answers:
        report = parse_header(header).report
        rows = {row.name: row.total_ns for row in report.rows if row.depth == 1 and row.name != "queue"}
        assert rows.keys() == spans.keys()
        for name, (least, most) in spans.items():
            # Two other clocks of the same process: within a thousandth of each other.
            assert least * 0.999 <= rows[name] <= most * 1.001
            totals[name] = totals.get(name, 0) + rows[name]
        assert sum(rows.values()) <= report.total_ns
        inside = [row for row in report.rows if row.name == "inside"]
        assert len(inside) == len(rows)
    # What all were told is what was recorded.
    request = served.root.children["GET /step"]
    for name, total_ns in totals.items():
        assert request.children[name].stats.sum_ns == pytest.approx(total_ns, rel=0.001)
    call = asked.profile.root.children[f"GET 127.0.0.1:{server.port}/step"]
    assert call.count == 32
    assert call.children["server@remote"].count == 32
