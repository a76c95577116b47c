from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest

import ticktree
from support.command_line import CommandLine, assert_one_clear_line


def test_a_run_is_written_as_a_timers_file(recorded: CommandLine) -> None:
    done = recorded.ticktree("export", "--to", "mlagents", "-o", "timers.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    tree = json.loads((recorded.directory / "timers.json").read_text())
    train = tree["children"]["train"]
    assert (tree["name"], tree["count"], train["count"], train["children"]["sample"]["count"]) == (
        "root",
        1,
        5,
        5,
    )
    assert tree["gauges"]["depth"]["value"] == 3
    assert tree["metadata"]["command_line_arguments"] == "train.py"


@pytest.mark.slow
def test_a_timers_file_is_reported_as_a_run_is(recorded: CommandLine) -> None:
    recorded.ticktree("export", "--to", "mlagents", "-o", "some_timers.json")
    done = recorded.ticktree("report", "--all", "some_timers.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "sample" in done.stdout
    profile = ticktree.load(recorded.directory / "some_timers.json")
    run = ticktree.load(recorded.runs()[0])
    assert profile.root.at("train").total_ns == run.root.at("train").total_ns
    report = json.loads(recorded.ticktree("report", "some_timers.json", "--format", "json").stdout)
    (train,) = report["tree"]["children"]
    assert (train["count"], train["min_ns"], train["p50_ns"], train["p99_ns"]) == (5, None, None, None)
    markdown = recorded.ticktree("report", "--all", "some_timers.json", "--format", "markdown").stdout
    (row,) = [
        line
        for line in markdown.splitlines()
        if line.startswith("|") and "─ sample |" in line.replace("\xa0", " ")
    ]
    assert row.endswith("|  |  |  |  |  | 5 |")  # no percentiles are known


@pytest.mark.parametrize("words", [(), ("-o", "-")])
def test_without_a_file_it_is_printed(recorded: CommandLine, words: tuple[str, ...]) -> None:
    done = recorded.ticktree("export", "--to", "mlagents", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["children"]["train"]["count"] == 5


def test_what_is_no_text_goes_through_a_pipe_byte_for_byte(recorded: CommandLine) -> None:
    recorded.ticktree("export", "--to", "pprof", "-o", "run.pb.gz")
    piped = recorded.ticktree("export", "--to", "pprof", text=False)
    assert piped.stdout == (recorded.directory / "run.pb.gz").read_bytes()
    assert piped.stdout.startswith(b"\x1f\x8b")


def test_what_is_no_text_is_not_printed_on_a_terminal(recorded: CommandLine) -> None:
    master, terminal = pty.openpty()
    try:
        streams = {"capture_output": False, "stdout": terminal, "stderr": subprocess.PIPE}
        done = recorded.ticktree("export", "--to", "pprof", **streams)
    finally:
        os.close(terminal)
        os.close(master)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "this format is binary" in done.stderr
    assert "-o FILE" in done.stderr


@pytest.mark.slow
def test_a_format_without_room_for_it_leaves_what_was_lost_to_standard_error(here: CommandLine) -> None:
    profile = ticktree.Profile(losses={"names_cut": 2, "unwound": 0})
    (here.directory / "run.json").write_text(profile.to_json())
    for form, said in (("collapsed", "Not recorded: 2 names cut"), ("speedscope", "")):
        assert said in here.ticktree("export", "run.json", "--to", form).stderr
        assert ("2 names cut" in here.ticktree("export", "run.json", "--to", form).stderr) is bool(said)


@pytest.mark.slow
def test_a_table_is_chosen_by_its_name(recorded: CommandLine) -> None:
    nodes = recorded.ticktree("export", "--to", "csv").stdout.splitlines()
    assert [line.split(",")[:2] for line in nodes[1:]] == [
        ["", "root"],
        ["train", "train"],
        ["train/sample", "sample"],
    ]
    (_, loop) = recorded.ticktree("export", "--to", "csv", "--table", "loops").stdout.splitlines()
    assert loop.startswith("train,5,")


def test_json_is_the_profile(recorded: CommandLine) -> None:
    (run,) = recorded.runs()
    done = recorded.ticktree("export", str(run), "--to", "json")
    assert ticktree.Profile.from_json(done.stdout) == ticktree.load(run)


@pytest.mark.slow
def test_a_file_that_is_there_is_replaced_whole_or_not_at_all(recorded: CommandLine) -> None:
    path = recorded.directory / "timers.json"
    path.write_text("old")
    assert_one_clear_line(
        recorded.ticktree("export", "no-such-run", "--to", "mlagents", "-o", "timers.json"), "no-such"
    )
    assert path.read_text() == "old"
    recorded.ticktree("export", "--to", "mlagents", "-o", "timers.json")
    assert json.loads(path.read_text())["count"] == 1


@pytest.mark.slow
def test_what_is_asked_for_wrongly_is_one_clear_line(recorded: CommandLine) -> None:
    assert_one_clear_line(recorded.ticktree("export"), "--to", "mlagents")
    assert_one_clear_line(recorded.ticktree("export", "--to", "excel"), "excel", "mlagents")
    assert_one_clear_line(
        recorded.ticktree("export", "--to", "mlagents", "-o", "no/such/place.json"),
        "cannot write no/such/place.json",
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"total": NaN, "count": 1}',
        '{"total": -1, "count": 1}',
        '{"total": 1, "count": 1, "children": "\\n"}',
    ],
)
def test_a_timers_file_that_says_what_cannot_be_is_one_clear_line(here: CommandLine, text: str) -> None:
    (here.directory / "x.json").write_text(text)
    assert_one_clear_line(here.ticktree("report", "x.json"), "x.json")
    assert_one_clear_line(here.ticktree("export", "x.json", "--to", "mlagents"), "x.json")


def test_a_timers_file_without_timers_says_so(here: CommandLine) -> None:
    (here.directory / "x.json").write_text('{"total": 1, "count": 1}')
    done = here.ticktree("report", "x.json")
    assert (done.returncode, done.stderr) == (0, "Nothing was recorded: the file has no timers.\n")
