"""Traces that torch.profiler really wrote, against the events that stand in them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ticktree.loading import load

torch = pytest.importorskip("torch", reason="torch is not installed: no trace of its profiler was read")


def record(path, rounds, *, with_stack=False, scheduled=True):
    """A small training loop under torch's profiler, and the trace it exports."""
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = schedule(wait=1, warmup=1, active=rounds) if scheduled else None
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, with_stack=with_stack) as profiler:
        for _ in range(rounds + 2 * scheduled):
            with record_function("sample"):
                batch = torch.randn(4, 8)
            with record_function("update"):
                with record_function("forward"):
                    loss = model(batch).sum()
                with record_function("backward"):
                    loss.backward()
                optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return record(tmp_path_factory.mktemp("torch") / "train.json", 5)


def ticktree(*words):
    return subprocess.run(
        [sys.executable, "-m", "ticktree", *map(str, words)], capture_output=True, text=True, check=False
    )


def annotations(path):
    events = json.loads(path.read_text())["traceEvents"]
    return [event for event in events if event.get("cat") == "user_annotation" and event["ph"] == "X"]


@pytest.mark.slow
def test_every_annotation_is_a_call_with_its_own_duration(trace):
    profile = load(trace)
    profile.check()
    found = {}
    for path, _, node in profile.root.walk():
        if path:
            found.setdefault(path.rpartition("/")[2], []).append((node.count, node.total_ns))
    expected = {}
    for event in annotations(trace):
        name = "ProfilerStep" if event["name"].startswith("ProfilerStep#") else event["name"]
        entry = expected.setdefault(name, [0, 0])
        entry[0] += 1
        entry[1] += round(event["dur"] * 1000)
    assert {name: list(parts) for name, parts in found.items()} == {
        name: [tuple(pair)] for name, pair in expected.items()
    }
    assert profile.losses == {}


def test_sections_hang_where_the_program_put_them(trace):
    profile = load(trace)
    update = profile.root.at("ProfilerStep/update")
    assert set(update.children) >= {"forward", "backward"}
    assert update.total_ns == update.self_ns + sum(child.total_ns for child in update.children.values())


def test_steps_of_the_profiler_are_ticks(trace):
    loop = load(trace).loops["ProfilerStep"]
    assert loop.ticks == 5
    worst = max(round(event["dur"] * 1000) for event in annotations(trace) if "Step#" in event["name"])
    assert loop.worst[0].duration_ns == worst
    assert sum(loop.first_ticks.durations_ns) == loop.busy_ns


def test_operators_and_python_functions_are_read_on_demand(tmp_path):
    path = record(tmp_path / "stacks.json", 2, with_stack=True, scheduled=False)
    assert load(path).metadata["not_read"] >= {"cpu_op", "python_function"}
    profile_of_all = load(path, categories=["user_annotation", "cpu_op", "python_function"])
    profile_of_all.check()
    events = json.loads(path.read_text())["traceEvents"]
    calls = [
        event for event in events if event.get("cat") in ("user_annotation", "cpu_op", "python_function")
    ]
    assert sum(node.count for _, _, node in profile_of_all.root.walk()) == len(calls)
    assert any("aten::" in path for path, _, _ in profile_of_all.root.walk())


@pytest.mark.slow
def test_the_commands_read_traces(trace, tmp_path):
    other = record(tmp_path / "other.json", 5)
    report = ticktree("report", trace)
    assert report.returncode == 0, report.stderr
    assert "ProfilerStep" in report.stdout
    assert "Not read: events of" in report.stderr
    compared = ticktree("compare", trace, other, "--format", "json")
    assert compared.returncode == 0, compared.stderr
    entries = {entry["path"]: entry["verdict"] for entry in json.loads(compared.stdout)["entries"]}
    assert "ProfilerStep/update" in entries
    exported = ticktree("export", trace, "--to", "csv", "--category", "cpu_op")
    assert exported.returncode == 0, exported.stderr
    assert "aten::" in exported.stdout
    single = ticktree("export", trace, "--to", "chrome", "-o", tmp_path / "again.json")
    assert single.returncode == 0, single.stderr
    assert load(tmp_path / "again.json").root.total_ns == load(trace).root.total_ns
    refused = ticktree("report", trace, "--category", "nope")
    assert refused.returncode == 2
    assert "no event is of category nope" in refused.stderr
