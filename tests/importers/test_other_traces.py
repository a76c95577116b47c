"""Traces as viztracer writes them, read for real, and as Ray writes them, in their shape."""

from __future__ import annotations

import json

import pytest

from support.chrome_traces import read, totals
from ticktree.loading import load


def work(rounds):
    return sum(inner(number) for number in range(rounds))


def inner(number):
    return sum(range(number))


def test_a_trace_of_viztracer_has_every_call_of_every_function(tmp_path):
    reason = "no trace of viztracer's was read: it is not installed"
    tracer = pytest.importorskip("viztracer", reason=reason).VizTracer(verbose=0, log_async=False)
    path = tmp_path / "viz.json"
    tracer.start()
    work(7)
    tracer.stop()
    tracer.save(str(path))
    profile = load(path)
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    nodes = [node for _, _, node in profile.root.walk()]
    assert sum(node.count for node in nodes) == len(events)
    outer = next(node for node in nodes if node.name.startswith("work "))
    # Generators come in pieces, one more than they yield.
    (loop,) = (node for node in nodes if node.name.startswith("inner "))
    assert (outer.count, loop.count) == (1, 7)
    expected = sum(round(event["dur"] * 1000) for event in events if event["name"].startswith("inner "))
    assert loop.total_ns == pytest.approx(expected, abs=14)


def task(name, start, length, *, worker, cat="task::step", **more):
    where = {"pid": "10.0.0.1", "tid": f"worker:{worker}"}
    return {
        "cat": cat,
        "name": name,
        "ph": "X",
        "ts": start,
        "dur": length,
        "cname": "rail_load",
        "args": {},
        **where,
        **more,
    }


def test_a_timeline_of_rays_has_a_thread_a_worker_and_the_parts_of_tasks_below_them():
    since = 1_790_000_000_000_000.0
    events = [
        {"ph": "M", "name": "process_name", "pid": "10.0.0.1", "args": {"name": "Node 10.0.0.1"}},
        {
            "ph": "M",
            "name": "thread_name",
            "pid": "10.0.0.1",
            "tid": "worker:a",
            "args": {"name": "worker:a"},
        },
    ]
    for at in range(4):
        begin = since + 1000 * at
        events.append(task("task::step", begin, 900.0, worker="a"))
        events.append(task("task:execute", begin + 100, 700.0, worker="a", cat="task:execute"))
        events.append(task("task::eval", begin, 500.0, worker="b", cat="task::eval"))
    profile = read(events)
    found = totals(profile)
    assert found == {
        "task::step": (4, 3600, 800),
        "task::step/task:execute": (4, 2800, 2800),
        "task::eval": (4, 2000, 2000),
    }
    assert profile.root.at("task::eval").concurrent_ns == 2_000_000
    assert {thread.thread_name for thread in profile.threads.values()} == {"worker:a", "worker:b"}
    assert {thread.process_name for thread in profile.threads.values()} == {"Node 10.0.0.1"}
    assert set(profile.loops) == {"task::step", "task::eval"}
