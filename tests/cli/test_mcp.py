"""`ticktree mcp`, asked by the SDK's own client: a server in a process of its own, in a directory with runs."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager

import pytest

import ticktree
from ticktree.cli.mcp import MAX_CHARACTERS, MAX_ROWS, TOOLS
from ticktree.cli.mcp import query as query_tool

pytest.importorskip("mcp")
pytest.importorskip("duckdb")
anyio = pytest.importorskip("anyio")

MS = 1_000_000
NAMES = {tool.__name__ for tool in TOOLS}


def saved(folder, name, slow_ns, sections=1):
    """A profile: a loop of 40 ticks in which `update` takes so long, and one tick takes ten times as long."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for number in recorder.loop("train", range(40), warmup=0):
        with recorder.section("update"):
            recorder.advance(slow_ns * (10 if number == 30 else 1))
        for part in range(sections):
            with recorder.section(f"part {part}"):
                recorder.advance(MS)
    recorder.disable()
    (folder / name).write_text(recorder.snapshot().to_json())


@pytest.fixture
def ask(tmp_path):
    """Asks the server for tools; what one answers is its text, and whether it is an error."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    saved(tmp_path, "base.json", 10 * MS)
    saved(tmp_path, "new.json", 20 * MS)
    saved(tmp_path, "large.json", 20 * MS, sections=400)
    server = StdioServerParameters(command=sys.executable, args=["-m", "ticktree", "mcp"], cwd=str(tmp_path))

    @asynccontextmanager
    async def session():
        async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as client:
            await client.initialize()
            yield client

    def ask(*calls):
        async def answers():
            async with session() as client:
                listed = {tool.name: tool for tool in (await client.list_tools()).tools}
                found = []
                for name, arguments in calls:
                    result = await client.call_tool(name, arguments)
                    found.append((result.content[0].text, bool(result.is_error)))
                return listed, found

        return anyio.run(answers)

    return ask


@pytest.mark.slow
def test_the_tools_are_listed_and_each_says_what_it_gives(ask):
    listed, _ = ask()
    assert set(listed) == NAMES
    assert all(tool.description for tool in listed.values())
    assert listed["query"].input_schema["required"] == ["sql"]


@pytest.mark.slow
def test_a_run_is_reported_compared_queried_and_explained(ask):
    _, answers = ask(
        ("report", {"run": "base.json"}),
        ("compare", {"base": "base.json", "new": "new.json"}),
        ("top_sections", {"run": "base.json", "count": 1}),
        ("worst_ticks", {"run": "base.json", "count": 1}),
        ("query", {"sql": "SELECT path, count FROM nodes WHERE path = 'train/update'", "run": "base.json"}),
        ("explain", {"rule": "critical", "run": "base.json"}),
    )
    assert [error for _, error in answers] == [False] * 6
    reported, compared, top, worst, queried, explained = (text for text, _ in answers)
    assert json.loads(reported)["schema"] == "ticktree-agent/1"
    assert (
        "| *train* | cannot tell | +91.5% |" in compared
    )  # one run per side, with a tick that is ten times as long
    (section,) = json.loads(top)["rows"]
    assert (section["path"], section["calls"], section["self_ns"]) == ("train/update", 40, 490 * MS)
    (tick,) = json.loads(worst)["rows"]
    assert (tick["tick"], tick["duration_ns"]) == (30, 101 * MS)
    assert tick["most"]["train/update"] == 100 * MS
    assert json.loads(queried) == {"rows": [{"path": "train/update", "count": 40}], "left_out": 0}
    explanation = json.loads(explained)
    assert explanation["rows"][0]["path"] == "train/update"
    assert explanation["looks_for"]


@pytest.mark.slow
def test_answers_are_bounded_and_say_what_is_left_out(ask):
    _, answers = ask(
        ("top_sections", {"run": "large.json", "count": 1000}),
        ("query", {"sql": "SELECT * FROM nodes", "run": "large.json", "count": 1000}),
        ("report", {"run": "large.json"}),
    )
    for text, error in answers:
        assert not error
        assert len(text) <= MAX_CHARACTERS
    top = json.loads(answers[0][0])
    assert 0 < len(top["rows"]) <= MAX_ROWS
    assert len(top["rows"]) + top["left_out"] == 401


@pytest.mark.slow
def test_mistakes_are_answers_with_the_reason_and_the_server_goes_on(ask):
    _, answers = ask(
        ("report", {"run": "missing"}),
        ("list_runs", {}),
        ("query", {"sql": "DROP TABLE nodes", "run": "base.json"}),
        ("worst_ticks", {"run": "base.json", "loop": "tarin"}),
        ("explain", {"rule": "nothing", "run": "base.json"}),
        ("top_sections", {"run": "base.json"}),
    )
    assert [error for _, error in answers] == [True] * 5 + [False]
    reasons = [text for text, _ in answers]
    assert "there is no such file or run" in reasons[0]
    assert "one SELECT" in reasons[2]
    assert "loops of the run: train" in reasons[3]
    assert "has no finding in base.json" in reasons[4]
    assert "Traceback" not in "".join(reasons)


def test_the_query_tool_says_how_to_see_columns():
    assert "LIMIT 1" in query_tool.__doc__
