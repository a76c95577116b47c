"""Runs of a job that come to rank 0 over the job's store, and those that do not."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from ticktree.loading import load
from ticktree.run.finishing import RunDirectory
from ticktree.run.job import copied_run_id, count_missing, gathered_profiles
from ticktree.session.gathering import WITHIN_VARIABLE, gather

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch is built without distributed"
)


@pytest.fixture
def store():
    patience = timedelta(seconds=60)
    return torch.distributed.TCPStore(
        "127.0.0.1", 0, is_master=True, timeout=patience, wait_for_workers=False
    )


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path))
    made = [RunDirectory.create(name, tmp_path / "runs") for name in ("first", "second")]
    yield made
    for run in made:
        run.finish()


def prefixed(store):
    return torch.distributed.PrefixStore("default_pg", torch.distributed.PrefixStore("0", store))


def test_what_another_run_has_put_there_is_kept_beside_that_of_rank_0(store, runs):
    first, second = runs
    gather(second, prefixed(store), 1, ["a", "b", "b"])
    gather(first, prefixed(store), 0, ["a", "b", "b"])
    (path,) = gathered_profiles(first.path)
    assert load(path).metadata["name"] == {"second"}
    assert copied_run_id(path) == "b"
    assert count_missing(first.path) == 0


def test_of_a_run_one_rank_puts_it_there(store, runs):
    before = store.num_keys()
    gather(runs[1], store, 2, ["a", "b", "b"])
    assert store.num_keys() == before


def test_what_does_not_come_is_waited_for_no_longer_than_was_said_and_counted(store, runs, monkeypatch):
    monkeypatch.setenv(WITHIN_VARIABLE, "0.2")
    begin = time.monotonic()
    gather(runs[0], store, 0, ["a", "b", "c"])
    assert time.monotonic() - begin >= 0.2
    assert (count_missing(runs[0].path), list(gathered_profiles(runs[0].path))) == (2, [])


def test_zero_seconds_gather_nothing(store, runs, monkeypatch):
    monkeypatch.setenv(WITHIN_VARIABLE, "0")
    gather(runs[0], store, 0, ["a", "b"])
    assert count_missing(runs[0].path) == 0
