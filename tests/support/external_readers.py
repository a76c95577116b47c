"""The real programs that read exported files: their locations, and the reason to skip a test without them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Where scripts/readers.sh puts what is no Python package.
READERS = ROOT / ".readers"
SPEEDSCOPE = READERS / "node_modules" / "speedscope" / "dist" / "release"


def program(name: str, why: str) -> Path:
    """Where a program is; the test that needs it is skipped where it is not, saying what was not compared."""
    places = [
        shutil.which(name),
        *READERS.glob(f"debian/usr/bin/{name}"),
        *READERS.glob(f"debian/usr/lib/go-*/bin/{name}"),
    ]
    for path in filter(None, places):
        return Path(path)
    pytest.skip(f"{why}: there is no {name}; scripts/readers.sh gets it")


def output_of(*words: str | Path, **variables: str) -> str:
    done = subprocess.run(
        words,
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
