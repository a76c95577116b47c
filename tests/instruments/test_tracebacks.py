"""What a program prints of its exceptions is the same under `ticktree run`, byte for byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from support.raising_programs import GYMNASIUM, MARKED, OF_TICKTREE, PROCESSES, TASKS, THREADS, TORCH

# What is another in each run: addresses, and times that were waited.
VARIES = re.compile(r"0x[0-9a-f]+|\d\.\d{5,}")
ALL = {**THREADS, **PROCESSES, **TASKS, **{name: MARKED + program for name, program in OF_TICKTREE.items()}}
# Those that pass through what is there however little is recorded by itself.
ALWAYS = [
    "a worker of a pool",
    "a function on another thread",
    "a function in C on another thread",
    "a thread started twice",
]


@pytest.fixture
def ends(tmp_path):
    """Runs a program and gives its output, what it wrote to standard error, and its exit status."""

    def run(program, *command):
        script = tmp_path / "program.py"
        script.write_text(program)
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(tmp_path), "COLUMNS": "100"}
        done = subprocess.run(
            [sys.executable, *command, str(script)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        return done.stdout, VARIES.sub("N", done.stderr), done.returncode

    return run


def check(ends, program, *options):
    plain = ends(program)
    assert "Traceback" in plain[1]
    assert ends(program, "-m", "ticktree", "run", "--quiet", *options) == plain


@pytest.mark.parametrize("name", ALL)
def test_no_frame_of_ticktree_is_in_the_traceback_of(name, ends):
    check(ends, ALL[name])


@pytest.mark.parametrize("name", ALWAYS)
def test_nor_where_nothing_is_recorded_by_itself_in_that_of(name, ends):
    check(ends, ALL[name], "--no-instrument")


@pytest.mark.slow
def test_a_broken_env_is_the_only_one_to_blame(ends):
    pytest.importorskip("gymnasium")
    check(ends, GYMNASIUM)
    check(ends, GYMNASIUM, "--instrument", "default,gymnasium-wrappers")


def test_a_sleep_that_is_interrupted(ends):
    program = """
import signal, time
def late(*_):
    raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, .05)
time.sleep(10)
"""
    check(ends, program, "--instrument", "default,sleep")
    check(ends, "import time; time.sleep('x')", "--instrument", "default,sleep")


@pytest.mark.slow
def test_a_broken_net_is_the_only_one_to_blame(ends):
    pytest.importorskip("torch")
    check(ends, TORCH)
