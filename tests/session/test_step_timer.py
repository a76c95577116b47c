"""StepTimer: time stamps after each part of a step, and their running means."""

from __future__ import annotations

import pytest

import ticktree
from ticktree.session import current
from ticktree.session import step_timer as module


class Clock:
    """A clock that the test advances."""

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


def step(timer, clock, *durations_ms):
    timer.start()
    for at, ms in enumerate(durations_ms):
        if at:
            timer.append()
        clock.work(ms)
    timer.stop()


def test_means_exclude_the_first_steps(clock):
    timer = ticktree.StepTimer("step", ["controller", "env"], after=2)
    for ms in (100, 100, 1, 3):
        step(timer, clock, ms, 10)
    assert timer.steps == 4
    assert timer.means == pytest.approx({"controller": 0.002, "env": 0.010})
    assert timer.mean == pytest.approx(0.012)
    assert str(timer) == "step 12.000 ms: controller 2.000, env 10.000"


def test_parts_without_a_name_are_numbered(clock):
    timer = ticktree.StepTimer("step", ["first"])
    step(timer, clock, 1, 2, 3)
    assert timer.means == pytest.approx({"first": 0.001, "2": 0.002, "3": 0.003})


def test_before_any_step_there_are_no_means(clock):
    timer = ticktree.StepTimer("step", after=1)
    step(timer, clock, 1)
    assert (timer.means, timer.mean) == ({}, None)
    assert str(timer) == "step: no step yet"


def test_the_mean_of_a_part_is_over_the_steps_that_had_it(clock):
    timer = ticktree.StepTimer("step")
    step(timer, clock, 2)
    step(timer, clock, 4, 10)
    assert timer.means == pytest.approx({"1": 0.003, "2": 0.010})
    assert timer.mean == pytest.approx(0.008)


def test_a_step_that_raises_or_is_begun_again_is_not_part_of_the_means(clock):
    timer = ticktree.StepTimer("step")
    with pytest.raises(KeyError), timer:
        clock.work(100)
        raise KeyError
    timer.start()
    clock.work(100)
    with timer:
        clock.work(1)
    assert timer.mean == pytest.approx(0.001)
    timer.append()
    timer.stop()
    assert timer.steps == 1


def test_the_step_and_its_parts_are_sections_while_ticktree_records(recording):
    timer = ticktree.StepTimer("step", ["act", "observe"])
    for _ in range(3):
        with timer:
            timer.append()
            with ticktree.section("camera"):
                pass
    with pytest.raises(KeyError), timer:
        raise KeyError
    profile = ticktree.snapshot()
    profile.check()
    node = profile.root.children["step"]
    assert node.count == 4
    assert {name: child.count for name, child in node.children.items()} == {"act": 4, "observe": 3}
    assert node.children["observe"].children["camera"].count == 3
    assert node.open is None
    assert not any(profile.losses.values())
