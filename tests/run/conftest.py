from __future__ import annotations

import pytest

from ticktree.run.finishing import RunDirectory


@pytest.fixture
def memory_base(tmp_path, monkeypatch):
    """The base of memory directories, instead of /dev/shm."""
    base = tmp_path / "shm"
    base.mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(base))
    return base


@pytest.fixture
def run(memory_base, tmp_path):
    return RunDirectory.create("x", tmp_path / "runs")
