"""Environments are made as their locks say, and an installation that does otherwise fails."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKED = ROOT / "scripts" / "locked.py"
LOCKS = sorted((ROOT / "locks").glob("*.txt"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_names_and_versions_only(lock):
    first, *lines = lock.read_text().splitlines()
    assert re.fullmatch(r"# Python 3\.\d+", first)
    assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.!]+", line) for line in lines)
    assert {"cython", "pip", "setuptools"} <= {line.partition("==")[0] for line in lines}


slow = pytest.mark.slow  # what makes an environment


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The Python of a new environment, and the lines of a lock with what is in it: pip, and setuptools on 3.11."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    lines = [f"{found.name}=={found.version}" for found in distributions(path=[str(site)])]
    return folder / "bin" / "python", lines


@pytest.fixture
def package(tmp_path):
    """A wheel with nothing in it: `invented-package` 1.0."""
    path = tmp_path / "invented_package-1.0-py3-none-any.whl"
    about = "invented_package-1.0.dist-info/"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: Invented_Package\nVersion: 1.0\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(about + "RECORD", "")
    return path


def install(environment, package, lock, lines):
    python, already = environment
    release = f"{sys.version_info.major}.{sys.version_info.minor}"
    lock.write_text("\n".join([f"# Python {release}", *already, *lines]))
    command = [python, LOCKED, lock, "install", "--no-index", "--force-reinstall", package]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@slow
def test_a_package_is_installed_at_the_version_that_the_lock_says(environment, package, tmp_path):
    done = install(environment, package, tmp_path / "lock.txt", ["invented-package==1.0"])
    assert done.returncode == 0, done.stderr


@slow
def test_an_installation_fails_where_the_lock_lacks_the_line_of_a_package(environment, package, tmp_path):
    done = install(environment, package, tmp_path / "lock.txt", [])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"installed, but not locked so in {tmp_path / 'lock.txt'}: invented-package 1.0 (locked: no); "
        "run `make lock`, or `make clean`"
    )


@slow
def test_an_installation_fails_where_the_lock_has_another_version(environment, package, tmp_path):
    done = install(environment, package, tmp_path / "lock.txt", ["invented-package==1.1"])
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@slow
def test_a_lock_of_another_python_is_refused(environment, tmp_path):
    lock = tmp_path / "lock.txt"
    lock.write_text("# Python 3.2\n")
    done = subprocess.run(
        [environment[0], LOCKED, lock, "create", tmp_path / "new"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{lock} is for Python 3.2, and ")
    assert not (tmp_path / "new").exists()
