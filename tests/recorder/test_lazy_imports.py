"""Lazy imports (PEP 810): ticktree does not load what the program does not use, and records what it does use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ticktree

pytestmark = pytest.mark.skipif(sys.version_info < (3, 15), reason="lazy imports are new in 3.15")

# Waits in queues are recorded as the module is imported. `unused` is awaited too, and nothing awaits `sqlite3`.
PROGRAM = """
import sys
lazy import queue
lazy from queue import SimpleQueue
lazy import sqlite3
lazy import unused
from ticktree.recorder.imports import before_import, when_imported

seen = []
before_import("unused", lambda: seen.append("before"))
when_imported("unused", lambda module: seen.append(module.__name__))
assert not {"queue", "sqlite3", "unused"} & {*sys.modules}, sorted(sys.modules)
waiting = queue.Queue()
waiting.put(1)
assert waiting.get() == 1
assert "queue" in sys.modules and not {"sqlite3", "unused"} & {*sys.modules}
assert type(globals()["sqlite3"]) is type(globals()["unused"]), "looked at"
assert seen == []
unused.value
assert seen == ["before", "unused"]
assert "sqlite3" not in sys.modules
"""


@pytest.mark.parametrize("mode", ["normal", "all"])
def test_a_lazy_module_is_recorded_once_it_is_really_imported(tmp_path: Path, mode: str) -> None:
    (tmp_path / "unused.py").write_text("value = 1\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py"]
    environment = {**os.environ, "PYTHON_LAZY_IMPORTS": mode}
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    (run,) = (tmp_path / "ticktree-runs").glob("*-*")
    profile = ticktree.load(run)
    profile.check()
    assert {name: node.count for name, node in profile.root.children.items()} == {"Queue.get": 1}


def test_lazy_imports_of_a_library_stay_lazy_when_the_library_is_recorded(tmp_path: Path) -> None:
    """An instrument looks at a module's functions, and not at what the module imports."""
    (tmp_path / "requests.py").write_text("lazy import sqlite3\nclass Session:\n    def request(self): ...\n")
    program = "import sys, requests\nassert 'sqlite3' not in sys.modules\nrequests.Session().request()"
    (tmp_path / "program.py").write_text(program)
    result = subprocess.run(
        [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
