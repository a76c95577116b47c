"""A wheel holds what an installation needs, and installs into an empty environment with the base dependencies only."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
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
    return built


def test_a_wheel_holds_the_native_module_the_stubs_the_page_and_the_pth_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert any(name.startswith("ticktree/recorder/_native.") and name.endswith(".so") for name in names)
    assert {
        "ticktree.pth",
        "ticktree/py.typed",
        "ticktree/recorder/_native.pyi",
        "ticktree/cli/run.py",
        "ticktree/outputs/history/page.css",
        "ticktree/outputs/html/page.html",
        "ticktree/outputs/html/runs.html",
        "ticktree/outputs/drawing/palette.json",
    } <= names
    assert not [name for name in names if name.endswith((".c", ".h", ".pyx", ".pxi"))]


def test_a_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    locked = ["--constraint", str(ROOT / "locks" / "venv.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *locked, str(wheel)], check=True)
    script = tmp_path / "script.py"
    script.write_text("import ticktree\nwith ticktree.section('work'):\n    print(sum(range(1000)))\n")
    command = [environment / "bin" / "ticktree", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "499500\n"
    assert "work" in done.stderr
    assert list((tmp_path / "ticktree-runs").glob("*/profile.json"))
