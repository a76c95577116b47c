from __future__ import annotations

from types import SimpleNamespace

import pytest
from visual_sac.timing import Budget

import ticktree
from ticktree.profile import Node, Stats, Work


def _node(name, *children, self_ms=0.0, count=1, work=None):
    below = {child.name: child for child in children}
    return Node(
        name=name, self_ns=round(self_ms * 1e6), steady=Stats.of([1] * count), work=work, children=below
    )


def _snapshot(updates, sample_ms):
    """A run of so many updates, whose `np.array` took `sample_ms` in all and moved 10 MB each time."""
    array = _node("np.array", self_ms=sample_ms, count=updates, work=Work(bytes=updates * 10**7))
    sample = _node("sample", array, self_ms=0.5 * updates, count=updates)
    conv1 = _node("conv1", self_ms=20.0 * updates, count=updates, work=Work(flops=updates * 2 * 10**9))
    critic = _node("critic 1", _node("forward", conv1, count=updates), count=updates)
    update = _node("update", sample, critic, self_ms=1.0 * updates, count=updates)
    return SimpleNamespace(root=_node("root", _node("train", update, count=updates)))


@pytest.fixture
def snapshots(monkeypatch):
    pending = []
    monkeypatch.setattr(ticktree, "snapshot", lambda: pending.pop(0))
    return pending


def _row(text, name):
    rows = (line.strip(" -") for line in text.splitlines())
    return next(row for row in rows if row.startswith(name)).removeprefix(name).split()


def test_a_budget_is_the_mean_of_the_updates_since_the_last_one(snapshots):
    snapshots += [_snapshot(4, 40.0), _snapshot(6, 100.0)]
    budget = Budget()
    first, second = budget.render(4), budget.render(6)
    assert "update 4, mean of 4" in first
    assert "update 6, mean of 2" in second
    assert _row(first, "np.array")[:2] == ["10.00", "ms"]
    assert _row(second, "np.array")[:2] == ["30.00", "ms"]


def test_rows_say_their_share_and_the_rate_of_their_work(snapshots):
    snapshots.append(_snapshot(2, 17.0))
    text = Budget().render(2)
    assert text.splitlines()[0].split()[-2:] == ["30.00", "ms"]
    assert _row(text, "np.array") == ["8.50", "ms", "28.3%", "1.18", "GB/s"]
    assert _row(text, "conv1") == ["20.00", "ms", "66.7%", "100.0", "GFLOP/s"]


def test_every_level_shows_its_self_time(snapshots):
    snapshots.append(_snapshot(2, 17.0))
    rows = [line for line in Budget().render(2).splitlines() if "[self]" in line]
    assert [row.split()[2] for row in rows] == ["0.50", "0.00", "0.00", "1.00"]


def test_with_ticktree_off_a_budget_says_so_instead_of_inventing_one(snapshots):
    snapshots.append(SimpleNamespace(root=_node("root")))
    assert "not recording" in Budget().render(1)
