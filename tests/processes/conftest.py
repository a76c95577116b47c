"""Programs that start children in some way, and the records of all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

WORK = """
import os, subprocess, sys, textwrap, threading, time, warnings
import ticktree
warnings.simplefilter("ignore", DeprecationWarning)


def work(name, calls):
    for _ in range(calls):
        with ticktree.section(name):
            pass


CHILD = '''
import os, sys, ticktree
for _ in range({calls}):
    with ticktree.section({name!r}):
        pass
{then}
'''


def program(name, calls, then=""):
    return [sys.executable, "-c", CHILD.format(name=name, calls=calls, then=textwrap.dedent(then))]


def job(name="job", calls=3):
    work(name, calls)
    return calls
"""


@pytest.fixture
def start_method(tmp_path):
    """Run a program alone and under `ticktree run`; return its processes' records, which are equal in both.

    The program's recording parts are under `if __name__ == "__main__"`, in a function `main()`.
    """

    def run(program, *, status=0, **variables):
        memory = tmp_path / "memory"
        memory.mkdir(exist_ok=True)
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(memory), **variables}
        script = tmp_path / "program.py"
        script.write_text(WORK + textwrap.dedent(program) + ENDING)
        profiles = [
            _recorded([sys.executable, script, "enable"], environment, tmp_path, "alone", status),
            _recorded(
                [sys.executable, "-m", "ticktree", "run", "--quiet", "--no-instrument", script, "armed"],
                environment,
                tmp_path,
                "supervised",
                status,
            ),
        ]
        assert counts(profiles[0]) == counts(profiles[1])
        assert list(memory.glob("*/*")) == []
        return profiles[0]

    return run


ENDING = """

if __name__ == "__main__":
    if sys.argv[1] == "enable":
        ticktree.enable(quiet=True)
    main()
    print("done", flush=True)
"""


def _recorded(command, environment, folder, name, status):
    from ticktree.run.finishing import RunDirectory

    run_folder = folder / name
    run_folder.mkdir(exist_ok=True)
    result = subprocess.run(
        command, cwd=run_folder, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (status, "done\n", ""), result
    profile = RunDirectory.newest(run_folder / "ticktree-runs").profile()
    profile.check()
    assert profile.losses == {}
    return profile


def counts(profile):
    """Completed calls by path, of all that was called."""
    return {path: node.count for path, _, node in profile.root.walk() if path and node.count}


@pytest.fixture
def calls():
    """Completed calls by path, of all that was called."""
    return counts
