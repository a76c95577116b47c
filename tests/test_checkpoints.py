"""Checkpoints: time stamps after each part of a step, and their running means."""

from __future__ import annotations

import pytest

import ticktree
from ticktree.session import checkpoints as module
from ticktree.session import current


class Clock:
    """Time that moves by what the test says."""

    def __init__(self):
        self.ns = 0

    def perf_counter_ns(self):
        return self.ns

    def work(self, ms):
        self.ns += round(ms * 1e6)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def recording():
    current.begin_afresh()
    yield current
    current.disable()


def step(checkpoints, clock, *durations_ms):
    checkpoints.start()
    for at, ms in enumerate(durations_ms):
        if at:
            checkpoints.append()
        clock.work(ms)
    checkpoints.stop()


def test_means_are_of_the_steps_after_the_first_ones(clock):
    checkpoints = ticktree.Checkpoints("step", ["controller", "env"], after=2)
    for ms in (100, 100, 1, 3):
        step(checkpoints, clock, ms, 10)
    assert checkpoints.steps == 4
    assert checkpoints.means == pytest.approx({"controller": 0.002, "env": 0.010})
    assert checkpoints.mean == pytest.approx(0.012)
    assert str(checkpoints) == "step 12.000 ms: controller 2.000, env 10.000"


def test_parts_without_a_name_are_numbered(clock):
    checkpoints = ticktree.Checkpoints("step", ["first"])
    step(checkpoints, clock, 1, 2, 3)
    assert checkpoints.means == pytest.approx({"first": 0.001, "2": 0.002, "3": 0.003})


def test_before_any_step_there_are_no_means(clock):
    checkpoints = ticktree.Checkpoints("step", after=1)
    step(checkpoints, clock, 1)
    assert (checkpoints.means, checkpoints.mean) == ({}, None)
    assert str(checkpoints) == "step: no step yet"


def test_a_part_that_some_steps_lack_has_the_mean_of_those_that_had_it(clock):
    checkpoints = ticktree.Checkpoints("step")
    step(checkpoints, clock, 2)
    step(checkpoints, clock, 4, 10)
    assert checkpoints.means == pytest.approx({"1": 0.003, "2": 0.010})
    assert checkpoints.mean == pytest.approx(0.008)


def test_a_step_that_raises_or_is_begun_anew_has_no_place_in_the_means(clock):
    checkpoints = ticktree.Checkpoints("step")
    with pytest.raises(KeyError), checkpoints:
        clock.work(100)
        raise KeyError
    checkpoints.start()
    clock.work(100)
    with checkpoints:
        clock.work(1)
    assert checkpoints.mean == pytest.approx(0.001)
    checkpoints.append()
    checkpoints.stop()
    assert checkpoints.steps == 1


def test_where_ticktree_records_the_step_and_its_parts_are_sections(recording):
    checkpoints = ticktree.Checkpoints("step", ["act", "observe"])
    for _ in range(3):
        with checkpoints:
            checkpoints.append()
            with ticktree.section("camera"):
                pass
    with pytest.raises(KeyError), checkpoints:
        raise KeyError
    profile = ticktree.snapshot()
    profile.check()
    node = profile.root.children["step"]
    assert node.count == 4
    assert {name: child.count for name, child in node.children.items()} == {"act": 4, "observe": 3}
    assert node.children["observe"].children["camera"].count == 3
    assert node.open is None
    assert not any(profile.losses.values())
