"""The same timers in a run: what the timers file says and what `ticktree report` says are of one recording."""

from __future__ import annotations

import json

import pytest

import ticktree

TRAINER = """
import json, multiprocessing, sys, time
from ticktree.compat.mlagents import get_timer_root, get_timer_tree, hierarchical_timer, reset_timers, set_gauge, timed

@timed
def advance():
    with hierarchical_timer("env_step"):
        time.sleep(0.001)

def worker(connection):
    for _ in range(2):
        with hierarchical_timer("environment.step"):
            time.sleep(0.001)
        connection.send(get_timer_root())
        reset_timers()

def train():
    for _ in range(3):
        advance()
    set_gauge("reward", 1.5)
    here, there = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=worker, args=(there,))
    with hierarchical_timer("collect"):
        process.start()
        with hierarchical_timer("workers") as workers:
            for _ in range(2):
                workers.merge(here.recv(), root_name="worker_root", is_parallel=True)
        process.join()

if __name__ == "__main__":
    train()
    with open("run_timers.json", "w") as file:
        json.dump(get_timer_tree(), file, indent=4)
"""


def trained(here, before=""):
    here.write("train.py", before + TRAINER)
    done = here.ticktree("run", "--quiet", "train.py") if not before else here.python("train.py")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (run,) = here.runs()
    profile = ticktree.load(run)
    profile.check()
    return profile, json.loads((here.directory / "run_timers.json").read_text())


@pytest.mark.slow
def test_a_run_and_the_timers_file_agree_and_workers_are_counted_once_in_each(here):
    profile, tree = trained(here)
    assert profile.root.at("advance").count == tree["children"]["advance"]["count"] == 3
    assert profile.root.at("advance/env_step").total_ns / 1e9 == pytest.approx(
        tree["children"]["advance"]["children"]["env_step"]["total"], rel=1e-3
    )
    # What the worker reset is not lost to the run, and what was merged is not in it a second time.
    steps = [node for path, _, node in profile.root.walk() if path.endswith("environment.step")]
    assert sum(node.count for node in steps) == 2
    assert "worker_root" not in profile.root.at("collect/workers").children
    root = tree["children"]["collect"]["children"]["workers"]["children"]["worker_root"]
    assert (root["count"], root["children"]["environment.step"]["count"]) == (2, 2)
    assert profile.gauges["reward"].last == 1.5


def test_without_a_run_the_program_is_its_own_and_nothing_is_left(here):
    here.write("train.py", TRAINER)
    done = here.python("train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in here.directory.iterdir()) == ["run_timers.json", "train.py"]
    report = here.ticktree("report", "run_timers.json").stdout
    assert "environment.step" in report
    assert "environment.step (parallel)" not in report


def test_a_program_that_enables_ticktree_itself_keeps_a_run(here):
    profile, tree = trained(here, before="import ticktree\nticktree.enable()\n")
    assert profile.root.at("advance").count == tree["children"]["advance"]["count"] == 3


def test_enabling_later_keeps_what_was_recorded_before(here):
    enabling = (
        "import ticktree\nfrom ticktree.compat.mlagents import hierarchical_timer\n"
        "with hierarchical_timer('early'): pass\nticktree.enable()\n"
    )
    profile, tree = trained(here, before=enabling)
    assert profile.root.at("early").count == tree["children"]["early"]["count"] == 1
    assert profile.root.at("advance").count == 3
    assert sum(node.count for path, _, node in profile.root.walk() if path.endswith("environment.step")) == 2
