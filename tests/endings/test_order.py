"""Who dies first: the supervisor, the program, its children, or all of them at once."""

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
def started(place):
    """The supervisor, and the numbers of the program and its children."""
    process = subprocess.Popen(
        place.command(PROGRAM), cwd=place.path, env=place.environment, stdout=subprocess.PIPE, text=True
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
    found = counts(profile)
    assert found["left"] == 1
    assert found["starting/left"] == 2
    assert profile.root.at("starting/work").open.count == 2
    assert profile.root.at("work").open.count == 1


def gone(pid):
    """Waits until a process that is not ours to wait for has ended."""
    for _ in range(3000):
        try:
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return
        except OSError:
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} is still alive")


def test_killing_the_supervisor_kills_the_program_and_loses_no_records(place, started, monkeypatch):
    process, program, children = started
    process.kill()
    process.wait()
    gone(program)
    run = RunDirectory.newest(place.path / "ticktree-runs")
    assert run.is_live()  # the children go on
    check(place.profile())
    place.sweep(monkeypatch)
    assert not run.is_finished()
    for child in children:
        os.kill(child, signal.SIGKILL)
    place.wait_for_the_dead()
    place.sweep(monkeypatch)
    assert run.is_finished()
    check(place.profile())
    assert place.left_in_memory() == []


def test_killing_the_program_ends_the_run_and_reports_children_that_continue(place, started):
    process, program, children = started
    os.kill(program, signal.SIGKILL)
    process.wait(timeout=500)
    assert process.returncode == -signal.SIGKILL
    profile = place.profile(losses=frozenset({"processes_outlived_run", "nodes_caught_in_a_write"}))
    check(profile)
    assert profile.losses["processes_outlived_run"] == 2
    assert place.left_in_memory() == []
    for child in children:  # they notice nothing
        os.kill(child, 0)


def test_killed_children_are_read_back_when_the_program_ends(place, started):
    process, program, children = started
    for child in children:
        os.kill(child, signal.SIGKILL)
    os.kill(program, signal.SIGTERM)
    process.wait(timeout=500)
    assert process.returncode == -signal.SIGTERM
    check(place.profile())
    assert place.left_in_memory() == []


def test_after_killing_all_at_once_the_next_command_reads_and_sweeps_the_run(place, started, monkeypatch):
    process, program, children = started
    for pid in [process.pid, program, *children]:
        os.kill(pid, signal.SIGSTOP)  # so that none sees the others die
    for pid in [process.pid, program, *children]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    run = place.wait_for_the_dead()
    check(place.profile())
    assert place.left_in_memory() != []
    other = place.run(place.command("print('another program')"))
    assert (other.returncode, other.stderr) == (0, "")
    assert run.is_finished()
    check(run.profile())
    assert place.left_in_memory() == []


def test_a_supervisor_killed_while_saving_leaves_a_run_that_can_be_saved(place, monkeypatch):
    """Its own moment of saving is short: it is killed when its temporary file is there, or at the end."""
    process = subprocess.Popen(
        place.command("import ticktree\nfor n in range(300):\n    with ticktree.section(f's{n}'): pass\n"),
        cwd=place.path,
        env=place.environment,
    )
    while process.poll() is None:
        if list(place.path.glob("ticktree-runs/*/.profile.json.*.tmp")):
            process.kill()
    process.wait()
    place.wait_for_the_dead()
    place.sweep(monkeypatch)
    assert len(counts(place.profile())) == 300
    assert place.left_in_memory() == []
    (run,) = RunDirectory.list(place.path / "ticktree-runs")
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}
