from __future__ import annotations

import pytest

from ticktree.run import memory
from ticktree.run.finishing import RunDirectory


@pytest.fixture
def memory_base(tmp_path, monkeypatch):
    """The only base of memory directories: what killed programs of other tests left is not swept."""
    base = tmp_path / "shm"
    base.mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(base))
    monkeypatch.setattr(memory, "_SHARED", base)
    monkeypatch.setattr(memory, "_temporary_directory", lambda: base)
    return base


@pytest.fixture
def run(memory_base, tmp_path):
    return RunDirectory.create("x", tmp_path / "runs")
