"""Free-threaded Pythons: the GIL is enabled, and `ticktree run` and `doctor` print one line about it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

import ticktree

ENABLED = "this Python is free-threaded: ticktree needs the GIL, which is enabled"
KEPT_OFF = "nothing is recorded: PYTHON_GIL=0 or -X gil=0 keeps the GIL off, which ticktree needs"
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PROGRAM = (
    "import sys, ticktree\nwith ticktree.section('part'): print(getattr(sys, '_is_gil_enabled', bool)())"
)
# What ticktree asks the interpreter, answered as a free-threaded one does.
AS_IF = (
    "import sys; sys.abiflags += 't'; sys._is_gil_enabled = lambda: {}; "
    "from ticktree.cli import main; sys.argv[0] = 'ticktree'; main()"
)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_free_threaded(tmp_path: Path) -> Command:
    """Runs ticktree's command with options of the interpreter."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(interpreter: list[str], *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *interpreter, *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    return run


def as_if(enabled: bool) -> list[str]:
    return ["-c", AS_IF.format(enabled)]


def counts(folder: Path) -> dict[str, int]:
    (run,) = (folder / "ticktree-runs").glob("*-*")
    return {name: node.count for name, node in ticktree.load(run).root.children.items()}


def test_the_doctor_names_the_python(run_free_threaded: Command) -> None:
    output = run_free_threaded(["-m", "ticktree"], "doctor", "-v").stdout
    assert "\npython      CPython 3." in output


@pytest.mark.skipif(IS_FREE_THREADED, reason="it is one")
@pytest.mark.parametrize(("enabled", "remark"), [(True, ENABLED), (False, KEPT_OFF)])
def test_the_doctor_has_a_sentence_on_a_free_threaded_python(
    run_free_threaded: Command, enabled: bool, remark: str
) -> None:
    output = " ".join(run_free_threaded(as_if(enabled), "doctor").stdout.split())
    assert f" python {remark[0].upper()}{remark[1:]}. " in output


@pytest.mark.skipif(IS_FREE_THREADED, reason="it is one")
def test_a_run_of_a_free_threaded_python_prints_one_line_before_the_program(
    run_free_threaded: Command,
) -> None:
    plain = run_free_threaded(["-m", "ticktree"], "run", "--quiet", "program.py")
    assert (plain.stdout, plain.stderr) == ("True\n" if sys.version_info >= (3, 13) else "False\n", "")
    loud = run_free_threaded(as_if(True), "run", "program.py")
    assert loud.stdout == plain.stdout
    assert [line for line in loud.stderr.splitlines() if "GIL" in line] == [f"ticktree: {ENABLED}"]
    assert run_free_threaded(as_if(True), "run", "--quiet", "program.py").stderr == ""


@pytest.mark.skipif(not IS_FREE_THREADED, reason="this Python is not free-threaded")
def test_a_free_threaded_python_records_with_its_gil_enabled(
    run_free_threaded: Command, tmp_path: Path
) -> None:
    result = run_free_threaded(["-m", "ticktree"], "run", "program.py")
    assert (result.returncode, result.stdout) == (0, "True\n")
    assert [line for line in result.stderr.splitlines() if "GIL" in line] == [f"ticktree: {ENABLED}"]
    assert counts(tmp_path) == {"part": 1}


@pytest.mark.skipif(not IS_FREE_THREADED, reason="this Python is not free-threaded")
def test_without_the_gil_the_program_runs_and_nothing_is_recorded(
    run_free_threaded: Command, tmp_path: Path
) -> None:
    result = run_free_threaded(["-X", "gil=0", "-m", "ticktree"], "run", "program.py")
    assert (result.returncode, result.stdout) == (0, "False\n")
    assert result.stderr.splitlines()[0] == f"ticktree: {KEPT_OFF}"
    assert f"Nothing was recorded: {KEPT_OFF.partition(': ')[2]}." in result.stderr
    assert counts(tmp_path) == {}
