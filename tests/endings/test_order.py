"""The supervisor, the program, its children, or all of them at once are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from support.crashing_programs import counts
from ticktree.run.finishing import RunDirectory

# A program and two children, all at work; each says its number once it is.
PROGRAM = r"""
import os, sys, time
import ticktree
def work(name):
    with ticktree.section("left"):
        pass
    with ticktree.section("work"):
        os.write(1, f"{name} {os.getpid()}\n".encode())  # one write: the three do not mix
        while True:
            with ticktree.section("step"):
                time.sleep(0.001)
with ticktree.section("starting"):
    for number in range(2):
        if not os.fork():
            work("child")
work("program")
"""


@pytest.fixture
def processes(sandbox):
    """The supervisor, and the pids of the program and its children."""
    process = subprocess.Popen(
        sandbox.command(PROGRAM), cwd=sandbox.path, env=sandbox.environment, stdout=subprocess.PIPE, text=True
    )
    pids = {"program": [], "child": []}
    for _ in range(3):
        name, pid = process.stdout.readline().split()
        pids[name].append(int(pid))
    yield process, pids["program"][0], pids["child"]
    for pid in [process.pid, *pids["program"], *pids["child"]]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def check(profile):
    call_counts = counts(profile)
    assert call_counts["left"] == 1
    assert call_counts["starting/left"] == 2
    assert profile.root.at("starting/work").open.count == 2
    assert profile.root.at("work").open.count == 1


def wait_until_ended(pid):
    """Wait until a process has ended that is not our child."""
    for _ in range(3000):
        try:
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return
        except OSError:
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} is still alive")


def test_killing_the_supervisor_kills_the_program_and_loses_no_records(sandbox, processes, monkeypatch):
    process, program, children = processes
    process.kill()
    process.wait()
    wait_until_ended(program)
    run = RunDirectory.newest(sandbox.path / "ticktree-runs")
    assert run.is_live()  # the children go on
    check(sandbox.profile())
    sandbox.sweep(monkeypatch)
    assert not run.is_finished()
    for child in children:
        os.kill(child, signal.SIGKILL)
    sandbox.wait_for_the_dead()
    sandbox.sweep(monkeypatch)
    assert run.is_finished()
    check(sandbox.profile())
    assert sandbox.left_in_memory() == []


def test_killing_the_program_ends_the_run_and_reports_children_that_continue(sandbox, processes):
    process, program, children = processes
    os.kill(program, signal.SIGKILL)
    process.wait(timeout=500)
    assert process.returncode == -signal.SIGKILL
    profile = sandbox.profile(losses=frozenset({"processes_outlived_run", "nodes_caught_in_a_write"}))
    check(profile)
    assert profile.losses["processes_outlived_run"] == 2
    assert sandbox.left_in_memory() == []
    for child in children:  # they notice nothing
        os.kill(child, 0)


def test_killed_children_are_read_back_when_the_program_ends(sandbox, processes):
    process, program, children = processes
    for child in children:
        os.kill(child, signal.SIGKILL)
    os.kill(program, signal.SIGTERM)
    process.wait(timeout=500)
    assert process.returncode == -signal.SIGTERM
    check(sandbox.profile())
    assert sandbox.left_in_memory() == []


def test_after_killing_all_at_once_the_next_command_reads_and_sweeps_the_run(sandbox, processes, monkeypatch):
    process, program, children = processes
    for pid in [process.pid, program, *children]:
        os.kill(pid, signal.SIGSTOP)  # so that none sees the others die
    for pid in [process.pid, program, *children]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    run = sandbox.wait_for_the_dead()
    check(sandbox.profile())
    assert sandbox.left_in_memory() != []
    other = sandbox.run(sandbox.command("print('another program')"))
    assert (other.returncode, other.stderr) == (0, "")
    assert run.is_finished()
    check(run.profile())
    assert sandbox.left_in_memory() == []


def test_a_supervisor_killed_while_saving_leaves_a_run_that_can_be_saved(sandbox, monkeypatch):
    """It saves only for a moment: it is killed when its temporary file exists, or at the end."""
    process = subprocess.Popen(
        sandbox.command("import ticktree\nfor n in range(300):\n    with ticktree.section(f's{n}'): pass\n"),
        cwd=sandbox.path,
        env=sandbox.environment,
    )
    while process.poll() is None:
        if list(sandbox.path.glob("ticktree-runs/*/.profile.json.*.tmp")):
            process.kill()
    process.wait()
    sandbox.wait_for_the_dead()
    sandbox.sweep(monkeypatch)
    assert len(counts(sandbox.profile())) == 300
    assert sandbox.left_in_memory() == []
    (run,) = RunDirectory.list(sandbox.path / "ticktree-runs")
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}
