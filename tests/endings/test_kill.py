"""SIGKILL at random instants, while several threads and processes write: ended calls are read back."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time

import pytest

from support.crashing_programs import counts
from support.thorough import part_of
from ticktree.run.finishing import RunDirectory

# Each writer has sections of its own name and says, now and then, how many it has left. A line is one write to a
# pipe: what was said had been recorded before.
PROGRAM = """
import os, sys, threading, time
import ticktree
os.setsid()
ticktree.enable()
BATCH = int(sys.argv[1])
def write(name):
    outer, calls = ticktree.section(name), 0
    while True:
        with outer:
            with ticktree.section("inner"):
                pass
            for _ in ticktree.loop("loop", range(2), hz=1e6):
                pass
            ticktree.gauge("gauge", calls)
        calls += 1
        if not calls % BATCH:
            os.write(1, f"{name} {calls}\\n".encode())
for number in range(2):
    if not os.fork():
        write(f"process {number}")
for number in range(2):
    threading.Thread(target=write, args=(f"thread {number}",)).start()
write("main")
"""
BATCH = 16
WRITERS = ["main", "thread 0", "thread 1", "process 0", "process 1"]


def kill_at_random(sandbox, seed):
    """Kill a program and its children at a random moment; return the calls that each writer had reported as ended."""
    command = [*sandbox.command(PROGRAM, supervised=False), str(BATCH)]
    process = subprocess.Popen(command, cwd=sandbox.path, env=sandbox.environment, stdout=subprocess.PIPE)
    reports = []
    reader = threading.Thread(target=lambda: reports.extend(process.stdout))
    reader.start()
    at_once = seed.random() < 0.25  # perhaps before anything was recorded
    while not at_once and len(reports) < 3:
        time.sleep(0.001)
    time.sleep(seed.random() * (0.3 if at_once else 0.05))
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has no group of its own yet
        process.kill()
    process.wait()
    reader.join()
    process.stdout.close()
    ended_calls = {}
    for line in reports:
        if line.endswith(b"\n"):
            name, _, calls = line.decode().rpartition(" ")
            ended_calls[name] = int(calls)
    return ended_calls


def run_trials(sandbox, number, monkeypatch):
    recorded_trials = 0
    for trial in range(number):
        ended_calls = kill_at_random(sandbox, random.Random(trial))
        runs = RunDirectory.list(sandbox.path / "ticktree-runs")
        assert runs or not ended_calls
        if not runs:
            continue
        sandbox.wait_for_the_dead()
        call_counts = counts(sandbox.profile())
        for name in ended_calls:
            assert ended_calls[name] <= call_counts[name] <= ended_calls[name] + BATCH + 1
            assert call_counts[name] <= call_counts[f"{name}/inner"] <= call_counts[name] + 1
            assert 2 * call_counts[name] <= call_counts[f"{name}/loop"] <= 2 * call_counts[name] + 2
        recorded_trials += bool(ended_calls)
        sandbox.sweep(monkeypatch)
        assert not list(sandbox.memory.glob("*/*/*"))  # one killed at once may leave an empty directory
        run = RunDirectory.newest(sandbox.path / "ticktree-runs")
        assert run.is_finished()
        assert counts(run.profile()) == call_counts
    return recorded_trials


@pytest.mark.slow
def test_after_a_kill_at_a_random_instant_all_ended_calls_are_read_back(sandbox, monkeypatch):
    assert run_trials(sandbox, 15, monkeypatch) > 5


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_after_kills_at_hundreds_of_random_instants_all_ended_calls_are_read_back(sandbox, monkeypatch):
    assert run_trials(sandbox, part_of(220), monkeypatch) > part_of(100)


def test_open_sections_are_reported_as_open_with_their_age(sandbox):
    sandbox.run(
        sandbox.command(
            """
            import os, signal, time
            import ticktree
            with ticktree.section("outer"):
                with ticktree.section("left"):
                    time.sleep(0.02)
                with ticktree.section("open"):
                    time.sleep(0.05)
                    with ticktree.section("looked at the clock"):
                        pass
                    os.kill(os.getpid(), signal.SIGKILL)
            """
        )
    )
    profile = sandbox.profile()
    assert counts(profile) == {
        "outer": 0,
        "outer/left": 1,
        "outer/open": 0,
        "outer/open/looked at the clock": 1,
    }
    open_calls = profile.root.at("outer/open").open
    assert open_calls.count == 1
    assert open_calls.age_ns >= 50_000_000
    assert profile.root.at("outer").open.age_ns >= open_calls.age_ns + 20_000_000
    assert profile.root.at("outer/left").open is None
