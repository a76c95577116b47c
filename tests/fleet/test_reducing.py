"""Merging on a Ray cluster: a tree of tasks gives the same result as one process."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ticktree.errors import TicktreeError
from ticktree.fleet.merging import ENGINES, FAN_IN
from ticktree.profile import Node, Profile, Stats
from ticktree.run.merging import Job


def write(folder, number):
    step = Node(
        name="step", self_ns=number, steady=Stats.of([number]), per_run={f"run-{number}": (1, number)}
    )
    path = folder / f"{number}.json"
    path.write_text(Profile(root=Node(name="root", children={"step": step})).to_json())
    return path


def test_a_missing_ray_is_named_in_the_error(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(TicktreeError, match=r"ticktree\[ray\]"):
        ENGINES["ray"]([write(tmp_path, 1)], Job("job"))


@pytest.fixture
def ended_cluster(monkeypatch):
    """A machine whose last Ray cluster ended without removing its address.

    The folder is not in tmp_path: the path of a Unix socket has room for 107 bytes.
    """
    with TemporaryDirectory(prefix="ray-") as folder:
        address = Path(folder, "ray", "ray_current_cluster")
        address.parent.mkdir()
        address.write_text("127.0.0.1:1")
        monkeypatch.setenv("RAY_TMPDIR", folder)
        yield


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("ended_cluster")
def test_a_merge_tree_of_several_levels_equals_the_merge_in_one_process(monkeypatch, tmp_path):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    paths = [write(tmp_path, number) for number in range(1, 2 * FAN_IN + 4)]
    damaged_file = tmp_path / "damaged.json"
    damaged_file.write_text("{")
    sources = [*paths, damaged_file, paths[0]]
    job = Job("job", keeps_threads=False)
    merged = ENGINES["ray"](sources, job)
    assert not ray.is_initialized(), "what was started for it is stopped"
    assert merged == ENGINES["process"](sources, job)
    assert merged.sources == len(paths) + 1
    assert len(merged.failed) == 1
    assert len(merged.again) == 1
