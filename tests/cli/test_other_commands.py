"""`list`, `doctor` and `demo`."""

from __future__ import annotations

import re

import pytest

import ticktree
from support.command_line import CommandLine, assert_one_clear_line


def test_runs_are_listed_with_state_age_and_command(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py", "--seed", "1")
    here.ticktree("run", "--quiet", "--name", "second", "train.py", "a b")
    lines = here.ticktree("list").stdout.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"\d{8}-\d{6}-train +finished +just now  train.py --seed 1", lines[0])
    assert re.fullmatch(r"\d{8}-\d{6}-second +finished +just now  train.py 'a b'", lines[1])


def test_a_directory_without_runs_is_one_clear_line(here: CommandLine) -> None:
    assert_one_clear_line(here.ticktree("list"), "no run in ticktree-runs yet")
    assert_one_clear_line(here.ticktree("list", "elsewhere"), "no run in elsewhere yet")


def test_a_program_that_recorded_by_itself_and_died_is_finished_by_the_next_command(
    here: CommandLine,
) -> None:
    here.write(
        "train.py", "import os, ticktree\nticktree.enable()\nwith ticktree.section('x'): pass\nos._exit(3)"
    )
    assert here.python("train.py").returncode == 3
    assert here.memory() != []
    assert "finished" in here.ticktree("list").stdout
    assert here.memory() == []
    assert ticktree.load(here.runs()[0]).root.at("x").count == 1


@pytest.mark.slow
def test_the_doctor_looks_at_everything(here: CommandLine) -> None:
    done = here.ticktree("doctor", "-v")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Recording works here")
    paragraphs = [line for line in done.stdout.splitlines() if not line.startswith((" ", "Recording works"))]
    assert [line.split()[0] for line in paragraphs] == [
        "python",
        "clock",
        "section",
        "memory",
        "cores",
        "noise",
        "ceilings",
        "devices",
        "recording",
        "libraries",
        "run",
    ]
    assert "Works: a test program was started, recorded and read back." in done.stdout
    assert re.search(r"costs [\d.]+ ns \(\d\.\d\d\)", done.stdout)
    assert "ticktree demo" in done.stdout
    assert here.memory() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import ticktree\nwith ticktree.section('x'): pass", "1 node, 1 call, 0 loops, 0 gauges"),
        ("pass", "is empty: no section was reached while recording was on"),
    ],
)
def test_the_doctor_says_what_is_in_a_run(here: CommandLine, program: str, says: str) -> None:
    here.write("train.py", program)
    here.ticktree("run", "--quiet", "train.py")
    assert says in " ".join(here.ticktree("doctor", "last").stdout.split())


@pytest.mark.slow
def test_the_doctor_shows_what_is_wrong_and_the_rest_on_demand(here: CommandLine) -> None:
    here.write("train.py", "pass")
    here.ticktree("run", "--quiet", "train.py")
    out = here.ticktree("doctor").stdout
    assert "is empty: no section was reached" in " ".join(out.split())
    assert out.startswith("Recording works here, with ")
    assert out.endswith("All checks: ticktree doctor -v\n")
    assert "\nclock " not in out
    here.write("train.py", "import ticktree\nwith ticktree.section('x'): pass")
    here.ticktree("run", "--quiet", "train.py")
    assert "\nrun " not in here.ticktree("doctor").stdout


@pytest.mark.slow
def test_the_doctor_finds_out_that_ticktree_is_off(here: CommandLine) -> None:
    here.env["TICKTREE_OFF"] = "1"
    out = here.ticktree("doctor").stdout
    assert out.startswith("Nothing can be recorded here:\n")
    assert "Does not work" in out
    assert "TICKTREE_OFF is set" in out


@pytest.mark.slow
def test_the_doctor_finds_out_that_there_is_no_place_for_memory_files(here: CommandLine) -> None:
    here.env["TICKTREE_MEMORY_DIR"] = "/proc/no/such/place"
    out = here.ticktree("doctor").stdout
    assert "/proc/no/such/place cannot be used" in out
    assert "Does not work" in out


def test_a_run_that_is_not_there_is_one_clear_line(here: CommandLine) -> None:
    done = here.ticktree("doctor", "nowhere")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_demo_shows_everything_at_once(here: CommandLine) -> None:
    done = here.ticktree("demo")
    assert done.returncode == 0
    assert "from the ball on average" in done.stdout
    profile = ticktree.load(here.runs()[0])
    profile.check()
    control = profile.root.at("control")
    assert control.count == 1000
    assert control.at("send/wait for an answer").count == 1
    assert profile.loops["control"].missed >= 1
    assert control.at("observe/resize").total_ns > control.at("observe/find the ball").total_ns
    assert profile.root.at("camera").concurrent_ns > 0
    assert profile.root.at("camera/expose").work.items > 0
    assert "distance, cm" in profile.gauges


def test_a_workload_that_is_not_there_is_one_clear_line(here: CommandLine) -> None:
    assert_one_clear_line(here.ticktree("demo", "no_such_workload"), "no_such_workload")


@pytest.mark.slow
def test_a_workload_of_a_checkout_is_run_with_the_arguments_given(here: CommandLine) -> None:
    here.write("workloads/tiny/train.py", "import sys; print(sys.argv)")
    (here.directory / "deeper").mkdir()
    assert here.ticktree("demo", "tiny").stdout == "['workloads/tiny/train.py', '--quick']\n"
    assert here.ticktree("demo", "tiny", "--n", "3").stdout == "['workloads/tiny/train.py', '--n', '3']\n"
    here.write("workloads/robot/eval_with_robot.py", "import sys; print(sys.argv)")
    assert here.ticktree("demo", "robot").stdout == "['workloads/robot/eval_with_robot.py', '--quick']\n"
    done = here.ticktree("demo", "tiny", cwd=here.directory / "deeper")
    assert done.stdout == f"['{here.directory}/workloads/tiny/train.py', '--quick']\n"
