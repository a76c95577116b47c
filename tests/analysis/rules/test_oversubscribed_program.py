"""Real programs beside a real busy process: what the supervisor reads of the machine, and what follows from it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.findings import findings
from ticktree.analysis.machine import Machine
from ticktree.run.finishing import RunDirectory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be pinned here"),
]

# Compressing lets go of the interpreter's lock: so many threads, so many cores wanted.
PROGRAM = """
import sys, threading, time, zlib, ticktree

text = bytes(range(256)) * 4000
until = time.monotonic() + 6

def work():
    with ticktree.section("work"):
        while time.monotonic() < until:
            zlib.compress(text)

threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.fixture
def watched_run(tmp_path):
    """Runs the program with so many threads on two cores, beside so many busy processes; gives its profile."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "memory").mkdir()

    def pinned(*command):
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(tmp_path / "memory")}
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def run(threads, busy):
        beside = [pinned(sys.executable, "-c", "while True: pass") for _ in range(busy)]
        try:
            command = [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py", str(threads)]
            done = pinned(*command)
            _, errors = done.communicate(timeout=500)
            assert done.returncode == 0, errors
        finally:
            for process in beside:
                process.kill()
                process.communicate()
        return RunDirectory.newest(tmp_path / "ticktree-runs").profile()

    return run


def rules_of(profile):
    return {finding.rule for finding in findings(profile)}


def test_two_threads_next_to_a_busy_process_are_oversubscribed(watched_run):
    profile = watched_run(threads=2, busy=1)
    machine = Machine(profile)
    if machine.typical("waiting") is None:
        pytest.skip("this system does not tell who waits for a core")
    assert machine.gauge("used").count >= 2
    if machine.typical("others") > 0.9:  # the busy process gets two thirds of a core
        pytest.skip("other programs took the cores too: then they are the cause that counts")
    assert "oversubscribed" in rules_of(profile)


def test_one_thread_is_not_oversubscribed_next_to_any_process(watched_run):
    profile = watched_run(threads=1, busy=1)
    assert "oversubscribed" not in rules_of(profile)
