"""Subinterpreters are not recorded, and print the same as without ticktree."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
for _ in range(2):
    sub = interpreters.create()
    interpreters.run_string(sub, "import sys; print('sub', flush=True)")
    interpreters.destroy(sub)
print("main")
"""
ENABLED = "import ticktree; ticktree.enable(quiet=True)\n"
NO_LINE = "ticktree: cannot record: "


@pytest.mark.parametrize("mode", ["run", "enabled"])
def test_a_subinterpreter_prints_no_line_of_ticktree(mode, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM if mode == "run" else ENABLED + PROGRAM)
    command = ["-m", "ticktree", "run", "--quiet"] if mode == "run" else []
    result = subprocess.run(
        [sys.executable, *command, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    lines = [line for line in result.stderr.splitlines() if not line.startswith("ticktree: run ")]
    assert (result.returncode, result.stdout, lines) == (0, "sub\nsub\nmain\n", [])


def test_an_interpreter_that_cannot_import_ticktree_prints_one_line(tmp_path):
    """As if a .pth file remained from a removed installation."""
    (tmp_path / "ticktree.py").write_text("")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules.pop('ticktree', None); "
    program += "import pathlib, sysconfig; folder = pathlib.Path(sysconfig.get_path('purelib')); "
    program += "exec((folder / 'ticktree.pth').read_text())"
    result = subprocess.run(
        [sys.executable, "-c", "import os; os.environ['TICKTREE_RUN'] = '/nowhere'; " + program],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.startswith(NO_LINE)
    assert result.stderr.count("\n") == 1
