"""Thousands of short-lived processes: tmpfs holds few of their files at any time, and the run has all records."""

from __future__ import annotations

import pytest

from support.crashing_programs import counts
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import MANY_FILES

# What a program sees of its own memory files.
FILES = """
import glob, multiprocessing, os, sys, time
import ticktree
def files():
    return len(glob.glob(os.environ["TICKTREE_MEMORY_DIR"] + "/*/*/*.tt"))
def job():
    with ticktree.section("job"):
        pass
"""


def process_counts(profile):
    return {thread.process for thread in profile.threads.values()}


def test_a_supervisor_folds_files_of_ended_processes_while_the_program_runs(sandbox):
    number = 3 * MANY_FILES
    result = sandbox.run(
        sandbox.command(
            FILES
            + f"""
with ticktree.section("spawn"):
    for _ in range({number}):
        pid = os.fork()
        if not pid:
            job()
            os._exit(0)
        os.waitpid(pid, 0)
until = time.monotonic() + 500
while files() > {MANY_FILES} + 1:
    assert time.monotonic() < until, files()
    time.sleep(0.05)
print(len(glob.glob("ticktree-runs/*/folded.json")))
"""
        )
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
    profile = sandbox.profile()
    assert counts(profile) == {"spawn": 1, "spawn/job": number}
    assert len(process_counts(profile)) == number + 1
    assert sandbox.left_in_memory() == []
    (run,) = RunDirectory.list(sandbox.path / "ticktree-runs")
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
def test_without_a_supervisor_an_ending_process_folds_files_of_earlier_ones(sandbox, start_method):
    number = 2 * MANY_FILES + 10
    result = sandbox.run(
        sandbox.command(
            FILES
            + f"""
if __name__ == "__main__":
    ticktree.enable(quiet=True)
    context, most = multiprocessing.get_context({start_method!r}), 0
    with ticktree.section("spawn"):
        for _ in range({number}):
            process = context.Process(target=job)
            process.start()
            process.join()
            most = max(most, files())
    print(most <= {MANY_FILES} + 4, most > {MANY_FILES} - 4)
""",
            supervised=False,
        )
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "True True\n", "")
    call_counts = counts(sandbox.profile())
    assert sum(count for path, count in call_counts.items() if path.endswith("job")) == number
    assert sandbox.left_in_memory() == []


@pytest.mark.slow
def test_without_a_supervisor_a_separate_process_folds_files_of_killed_processes(
    sandbox,
):
    result = sandbox.run(
        sandbox.command(
            FILES
            + """
import signal, threading
told = []
signal.signal(signal.SIGCHLD, lambda *_: told.append(os.getpid()))
ticktree.enable(quiet=True)
number, until, reader = 0, time.monotonic() + 500, None
with ticktree.section("fork"):
    while not glob.glob("ticktree-runs/*/folded.json"):
        assert time.monotonic() < until
        if number > 300:
            time.sleep(0.1)  # it is at work
        ours, theirs = os.pipe()
        os.set_inheritable(theirs, True)
        pid = os.fork()
        if not pid:
            job()
            try:
                os.wait()
            except ChildProcessError:
                os.write(theirs, b"none" if not told or told[-1] != os.getpid() else b"told")
            os._exit(0)
        os.close(theirs)
        with open(ours, "rb") as pipe:
            assert pipe.read() == b"none"  # and nobody else holds the other end
        assert os.wait() == (pid, 0)
        number += 1
print(number)
""",
            supervised=False,
        )
    )
    assert (result.returncode, result.stderr) == (0, "")
    number = int(result.stdout)
    assert counts(sandbox.profile()) == {"fork": 1, "fork/job": number}
    assert sandbox.left_in_memory() == []


def test_a_few_processes_are_never_folded(sandbox):
    result = sandbox.run(
        sandbox.command(
            FILES
            + """
ticktree.enable(quiet=True)
context = multiprocessing.get_context("fork")
for _ in range(5):
    process = context.Process(target=job)
    process.start()
    process.join()
print(files(), len(glob.glob("ticktree-runs/*/folded.json")))
""",
            supervised=False,
        )
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "6 0\n", "")
