"""SIGKILL at random instants, while several threads and processes write: what had been left by then is read back."""

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


def killed(place, seed):
    """Kills a program and its children at a random moment; what each writer said it had left by then."""
    command = [*place.command(PROGRAM, supervised=False), str(BATCH)]
    process = subprocess.Popen(command, cwd=place.path, env=place.environment, stdout=subprocess.PIPE)
    said = []
    reader = threading.Thread(target=lambda: said.extend(process.stdout))
    reader.start()
    at_once = seed.random() < 0.25  # perhaps before anything was recorded
    while not at_once and len(said) < 3:
        time.sleep(0.001)
    time.sleep(seed.random() * (0.3 if at_once else 0.05))
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has no group of its own yet
        process.kill()
    process.wait()
    reader.join()
    process.stdout.close()
    left = {}
    for line in said:
        if line.endswith(b"\n"):
            name, _, calls = line.decode().rpartition(" ")
            left[name] = int(calls)
    return left


def trials(place, number, monkeypatch):
    recorded = 0
    for trial in range(number):
        left = killed(place, random.Random(trial))
        runs = RunDirectory.list(place.path / "ticktree-runs")
        assert runs or not left
        if not runs:
            continue
        place.wait_for_the_dead()
        found = counts(place.profile())
        for name in left:
            assert left[name] <= found[name] <= left[name] + BATCH + 1
            assert found[name] <= found[f"{name}/inner"] <= found[name] + 1
            assert 2 * found[name] <= found[f"{name}/loop"] <= 2 * found[name] + 2
        recorded += bool(left)
        place.sweep(monkeypatch)
        assert not list(place.memory.glob("*/*/*"))  # one killed at once may leave an empty directory
        finished = RunDirectory.newest(place.path / "ticktree-runs")
        assert finished.is_finished()
        assert counts(finished.profile()) == found
    return recorded


@pytest.mark.slow
def test_after_a_kill_at_a_random_instant_all_ended_calls_are_read_back(place, monkeypatch):
    assert trials(place, 15, monkeypatch) > 5


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_after_kills_at_hundreds_of_random_instants_all_ended_calls_are_read_back(place, monkeypatch):
    assert trials(place, part_of(220), monkeypatch) > part_of(100)


def test_open_sections_are_reported_as_open_with_their_age(place):
    place.run(
        place.command(
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
    profile = place.profile()
    assert counts(profile) == {
        "outer": 0,
        "outer/left": 1,
        "outer/open": 0,
        "outer/open/looked at the clock": 1,
    }
    opened = profile.root.at("outer/open").open
    assert opened.count == 1
    assert opened.age_ns >= 50_000_000
    assert profile.root.at("outer").open.age_ns >= opened.age_ns + 20_000_000
    assert profile.root.at("outer/left").open is None
