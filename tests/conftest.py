"""What all tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, Phase, settings

from support.command_line import CommandLine
from ticktree.recorder import hooks

# No test here is about speed, and whole profiles take long to draw on a busy machine. In CI the examples are the same
# each time: a change that fails there must be the cause. At a desk they are new ones each time, and a failing one is
# made small. To say why an example fails hypothesis traces every line: of a whole profile that outlasts a test's time
# limit, and then the limit is all that is heard of the failure.
_IN_CI = bool(os.environ.get("CI"))
settings.register_profile(
    "unhurried",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=_IN_CI,
    phases=set(Phase) - ({Phase.explain, Phase.shrink} if _IN_CI else {Phase.explain}),
)
settings.load_profile("unhurried")

# A shell starts what runs in its background with the keyboard's signals ignored, and every program below inherits it:
# there a Ctrl-C that a test sends would reach nobody.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="module")
def _no_recorder_outlives_its_module():
    """One that goes on recording keeps the hooks in place, which other tests look at."""
    yield
    for recorder in [user() for user in hooks._users]:
        if recorder is not None:
            recorder.disable()
        hooks.uninstall(recorder)


@pytest.fixture
def here(tmp_path):
    """A directory in which a test runs ticktree's commands."""
    return CommandLine(tmp_path)


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process and a directory of its own, and checks how it ends."""

    def run(program, *, status=0, **variables):
        memory = tmp_path / "memory"
        memory.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "TICKTREE_MEMORY_DIR": str(memory),
            "PYTHONFAULTHANDLER": "1",
            **variables,
        }
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def run_session(run_python, tmp_path):
    """Runs a program that records into a run, and gives the profile that is left of it."""

    def run(program, **options):
        done = run_python("import ticktree\n" + textwrap.dedent(program), **options)
        from ticktree.run.finishing import RunDirectory

        newest = RunDirectory.newest(tmp_path / "ticktree-runs")
        profile = newest.profile()
        profile.check()
        return profile, done

    return run
