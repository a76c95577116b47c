"""A control loop as its users run it: `ticktree run`, and what the report says of its deadlines."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

import ticktree
from support.command_line import CommandLine, program_of

ROBOT = """
import threading, time, ticktree

class Camera(threading.Thread):
    taken = time.monotonic()

    def run(self):
        for _ in ticktree.loop("camera", range(40), hz=100, pace=True):
            Camera.taken = time.monotonic()

camera = Camera(daemon=True)
camera.start()
for tick in ticktree.loop("control", hz=100, pace="catch up"):
    if tick == 40:
        break
    ticktree.stage("observe")
    tick.origin(Camera.taken, "scene")
    ticktree.gauge("action queue depth", max(0, 7 - tick % 10))
    ticktree.stage("act")
    time.sleep(0.001)
    tick.acted()
camera.join()
print("done")
"""
ENDLESS = """
import ticktree
for tick in ticktree.loop("control", hz=0.001, pace=True):
    if tick == 0:
        print("go", flush=True)
"""


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.mark.slow
def test_the_report_of_a_robot_has_its_rate_its_sleep_its_ages_and_its_empty_queue(cli):
    cli.write("robot.py", ROBOT)
    done = cli.ticktree("run", "robot.py")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    report = cli.ticktree("report", "--all").stdout
    # On a busy machine it is "97.1 of 100 Hz".
    assert re.search(r"^control +(\S+ of )?100 Hz ", report, re.MULTILINE), report
    assert re.search(r"^camera +(\S+ of )?100 Hz ", report, re.MULTILINE), report
    assert "sleep (slack)" in report
    assert "  sensor to action: scene " in report
    assert re.search(r"^action queue depth +0 +0 .* 30% +40$", report, re.MULTILINE), report
    assert "Fill action queue depth faster: it is 0 in 30% of its readings" in " ".join(report.split())
    assert "1 cut short" in report


@pytest.mark.slow
def test_the_profile_has_the_ages_as_a_node_that_covers_nothing(cli):
    cli.write("robot.py", ROBOT)
    cli.ticktree("run", "robot.py")
    profile = ticktree.load(cli.runs()[0])
    profile.check()
    age = profile.root.at("control/sensor to action: scene")
    assert age.count == 40
    assert age.concurrent_ns == age.total_ns > 0
    assert profile.losses == {}
    report = json.loads(cli.ticktree("report", "--format", "json").stdout)
    assert [finding["rule"] for finding in report["findings"]].count("starved") == 1


@pytest.mark.slow
def test_ctrl_c_ends_a_loop_that_sleeps_for_long_and_its_run_is_kept(cli):
    cli.write("endless.py", ENDLESS)
    running = cli.start("run", "endless.py")
    assert running.stdout.readline() == "go\n"
    time.sleep(0.2)  # into its sleep of a quarter of an hour; were it not there yet, it would end as well
    began = time.monotonic()
    os.kill(program_of(running.pid), signal.SIGINT)
    _, stderr = running.communicate(timeout=500)
    assert time.monotonic() - began < 60
    assert "KeyboardInterrupt" in stderr
    assert "1 cut short" in cli.ticktree("report", "--all").stdout
