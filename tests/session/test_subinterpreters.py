"""Subinterpreters are not recorded, and nothing says so: they print what they print without ticktree."""

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


@pytest.mark.parametrize("way", ["run", "enabled"])
def test_a_subinterpreter_prints_nothing_of_ticktree(way, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM if way == "run" else ENABLED + PROGRAM)
    command = ["-m", "ticktree", "run", "--quiet"] if way == "run" else []
    done = subprocess.run(
        [sys.executable, *command, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("ticktree: run ")]
    assert (done.returncode, done.stdout, said) == (0, "sub\nsub\nmain\n", [])


def test_an_interpreter_that_cannot_import_ticktree_says_so_in_one_line(tmp_path):
    """As where a .pth file is left of an installation that is gone."""
    (tmp_path / "ticktree.py").write_text("")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules.pop('ticktree', None); "
    program += "import pathlib, sysconfig; folder = pathlib.Path(sysconfig.get_path('purelib')); "
    program += "exec((folder / 'ticktree.pth').read_text())"
    done = subprocess.run(
        [sys.executable, "-c", "import os; os.environ['TICKTREE_RUN'] = '/nowhere'; " + program],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(NO_LINE)
    assert done.stderr.count("\n") == 1
