"""A training pipeline's profiling package: what its users call, and what its analyzer writes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import ticktree
from ticktree.compat import profiling
from ticktree.compat.profiling.profiler import Profiler
from ticktree.session import current


@pytest.fixture(autouse=True)
def profiler(monkeypatch):
    profiler = Profiler()
    monkeypatch.setattr(profiling, "_profiler", profiler)
    current.disable()
    yield profiler
    current.recorder.reset()
    current.disable()


def counts(profiler):
    lines = profiler.summary().splitlines()[4:-1]
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def test_operations_are_counted_between_enable_and_disable(profiler):
    @profiling.profile_function("convlstm_forward_pass", track_memory=True)
    def forward(x):
        """Goes forward."""
        with profiling.profile("convlstm_layers"):
            return x + 1

    assert forward(1) == 2
    assert profiler.summary().startswith("Profiling is off")
    profiling.get_profiler().enable()
    assert profiler.summary() == "No operation was recorded."
    assert [forward(n) for n in range(3)] == [1, 2, 3]
    profiling.get_profiler().disable()
    forward(1)
    assert counts(profiler) == {"convlstm_forward_pass": 3, "convlstm_layers": 3}
    assert forward.__doc__ == "Goes forward."


def test_a_function_without_a_name_has_its_own(profiler):
    @profiling.profile_function()
    def rendered():
        pass

    profiler.enable()
    rendered()
    assert next(iter(counts(profiler))).endswith("rendered")


def test_resetting_forgets_all_statistics(profiler):
    profiler.enable()
    with profiling.profile("a"):
        pass
    profiler.reset()
    assert profiler.summary() == "No operation was recorded."


def test_the_summary_has_the_columns_and_the_memory_that_was_tracked(profiler, capsys):
    profiler.enable()
    with profiling.profile("plain"):
        pass
    with profiling.profile("tracked", track_memory=True):
        pass
    profiler.print_summary()
    printed = capsys.readouterr()
    assert printed.out == ""
    heads = printed.err.splitlines()[2]
    columns = ("Operation", "Calls", "Total(s)", "Avg(s)", "Min(s)", "Max(s)", "Mem Peak(MB)", "GPU Peak(MB)")
    positions = [heads.index(column) for column in columns]
    assert positions == sorted(positions)
    rows = {line.split()[0]: line.split()[1:] for line in printed.err.splitlines()[4:-1]}
    assert rows["plain"][-2:] == ["-", "-"]
    assert float(rows["tracked"][-2]) > 1
    assert rows["tracked"][-1] == "-"


def analyze(*arguments):
    command = [sys.executable, "-m", "ticktree.compat.profiling.analyzer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500)


@pytest.mark.slow
def test_the_analyzer_writes_text_charts_and_details_of_a_saved_report(profiler, tmp_path):
    pytest.importorskip("matplotlib")
    profiler.enable()
    for _ in range(20):
        with profiling.profile("training_total"), profiling.profile("env_rgb_rendering"):
            sum(range(2000))
    report = tmp_path / "profiling_report.json"
    profiler.save_report(report)
    text, chart, details = (tmp_path / name for name in ("analysis.txt", "performance.png", "detailed.json"))
    done = analyze("--input", report, "--output", text, "--charts", chart, "--detailed", details)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "SECTIONS OF" in text.read_text()
    assert "env_rgb_rendering" in text.read_text()
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert json.loads(details.read_text())["bottlenecks"]
    assert ticktree.load(details).root.at("training_total/env_rgb_rendering").count == 20
    assert ticktree.load(report).root.at("training_total/env_rgb_rendering").count == 20


def test_the_analyzer_prints_where_no_file_is_asked_for(profiler, tmp_path):
    profiler.enable()
    with profiling.profile("training_total"):
        pass
    report = tmp_path / "report.json"
    profiler.save_report(report)
    done = analyze("--input", report)
    assert done.returncode == 0
    assert "training_total" in done.stdout


@pytest.mark.parametrize("text", [None, "{", '{"a": 1}'])
def test_what_is_no_report_is_one_clear_line(tmp_path, text):
    report = tmp_path / "report.json"
    if text is not None:
        report.write_text(text)
    done = analyze("--input", report, "--output", tmp_path / "out.txt")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.txt").exists()


def test_a_file_that_cannot_be_written_is_one_clear_line(profiler, tmp_path):
    profiler.enable()
    with profiling.profile("a"):
        pass
    report = tmp_path / "report.json"
    profiler.save_report(report)
    done = analyze("--input", report, "--output", tmp_path / "nowhere" / "out.txt")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "out.txt" in done.stderr


def test_the_analyzer_adds_up_an_operation_wherever_it_was_called_and_leaves_out_other_sections(
    profiler, tmp_path
):
    profiler.enable()
    for section in ("collecting", "updating"):
        with profiling.profile(section), ticktree.section("no operation"), profiling.profile("forward"):
            pass
    report, detailed = tmp_path / "report.json", tmp_path / "detailed.json"
    profiler.save_report(report)
    assert analyze("--input", report, "--detailed", detailed).returncode == 0
    details = json.loads(detailed.read_text())
    operations = {operation["name"]: operation for operation in details["operations"]}
    assert set(operations) == {"collecting", "updating", "forward"}
    assert operations["forward"]["count"] == 2
    assert operations["forward"]["paths"] == [
        "collecting/no operation/forward",
        "updating/no operation/forward",
    ]
    assert operations["forward"]["memory_peak_bytes"] is None
    root = ticktree.load(detailed).root  # it still is a profile
    assert operations["forward"]["total_ns"] == sum(
        root.at(path).total_ns for path in operations["forward"]["paths"]
    )
    printed = analyze("--input", report).stdout
    by_name = printed.partition("\n\n")[0].splitlines()
    assert by_name[0] == "PROFILING SUMMARY:"
    assert {line.split()[0] for line in by_name[4:-1]} == {"collecting", "updating", "forward"}


def test_of_a_profile_that_names_no_operations_every_section_is_one(profiler, tmp_path):
    profiler.enable()
    with ticktree.section("anything"), ticktree.section("at all"):
        pass
    saved = tmp_path / "profile.json"
    saved.write_text(ticktree.snapshot().to_json())
    printed = analyze("--input", saved).stdout.partition("\n\n")[0]
    assert "anything" in printed
    assert "at all" in printed
