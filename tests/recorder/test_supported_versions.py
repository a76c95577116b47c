"""The supported Pythons: the same in all files, and with any other version the build stops with one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
ONLY = "ticktree reads frames of CPython 3.11 to 3.15 only"


def test_all_files_that_name_the_versions_name_the_same() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    assert project["requires-python"] == f">={VERSIONS[0]}"
    assert re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"])) == VERSIONS
    assert pyproject["tool"]["cibuildwheel"]["build"] == " ".join(
        f"cp{version.replace('.', '')}-*" for version in VERSIONS
    )
    tested = re.search(r"\$\{VERSIONS:-(.*)\}", (ROOT / "scripts" / "test-versions.sh").read_text())
    assert tested is not None
    assert tested.group(1).split() == VERSIONS[1:]
    assert f"Python {VERSIONS[0]} to {VERSIONS[-1]}." in (ROOT / "README.md").read_text()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("version", ["0x030A0DF0", "0x031000A1"])
def test_the_header_stops_a_compiler_in_one_line(tmp_path: Path, version: str) -> None:
    source = tmp_path / "other.c"
    source.write_text(
        f"#include <Python.h>\n#undef PY_VERSION_HEX\n#define PY_VERSION_HEX {version}\n"
        '#include "core/pyframe.h"\n'
    )
    flags = re.findall(r"-W\S+(?=\")", (ROOT / "setup.py").read_text())
    core = ROOT / "src" / "ticktree" / "recorder"
    command = ["gcc", "-fsyntax-only", *flags, f"-I{sysconfig.get_path('include')}", f"-I{core}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert f'#error "{ONLY}: use one, or a ticktree that supports this Python"' in errors[0]


def test_the_build_of_a_newer_python_stops_before_the_compiler() -> None:
    program = (
        "import sys, setuptools, Cython.Build\n"
        "sys.version_info = (3, 16, 0, 'alpha', 1)\n"
        "exec(compile(open('setup.py').read(), 'setup.py', 'exec'))"
    )
    pytest.importorskip("Cython")
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"{ONLY}: use one, or a ticktree that supports this Python\n"


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_a_python_that_cannot_be_had_is_named_and_fails_in_ci(ci: str, status: int) -> None:
    environment = {**os.environ, "VERSIONS": "3.99", "CI": ci}
    command = ["bash", str(ROOT / "scripts" / "test-versions.sh")]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (result.returncode, result.stdout) == (status, "not here, so not tested: Python 3.99\n"), (
        result.stderr
    )
