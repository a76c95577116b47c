"""What the guide lists as troubles and bottlenecks is found by itself, in the rows that this program records."""

from __future__ import annotations

import pytest

import ticktree
from support.findings import findings

MS = 1_000_000


def _chunks(*, observe=12.0, preprocess=4.0, infer=60.0, guide=0.0, merge=0.1, number=40, depths=(20,)):
    """The loop that fills the queue, on a clock that only this moves, and the queue as control finds it."""
    recorder = ticktree.Recorder(virtual_clock=True)

    def step(name, ms):
        with recorder.section(name):
            recorder.advance(round(ms * MS))

    for chunk in recorder.loop("get_actions", range(number), warmup=0):
        with recorder.section("robot.get_observation"), recorder.section("camera read", wait=True):
            recorder.advance(round(observe * MS))  # a robot's: it is waited for
        step("get_actions.preprocessing", preprocess)
        with recorder.section("get_actions.policy_inference"):
            recorder.advance(round(infer * MS))
            if guide:
                step("rtc.guidance_computation", guide)
        step("get_actions.postprocessing", 0.2)
        step("get_actions.action_queue_merge", merge)
        recorder.gauge("ActionQueue depth", depths[chunk % len(depths)])
    return recorder.snapshot()


def _rules(profile):
    return {finding.rule for finding in findings(profile)}


SOUND = {"preprocessing", "queue-merge", "guidance", "round-trip"}


def test_a_sound_loop_has_none_of_them():
    assert not SOUND & _rules(_chunks())


@pytest.mark.parametrize(
    ("trouble", "rule"),
    [
        ({"preprocess": 40.0}, "preprocessing"),
        ({"merge": 12.0}, "queue-merge"),
        ({"infer": 40.0, "guide": 45.0, "depths": (0, 20)}, "guidance"),
        ({"observe": 200.0}, "round-trip"),
    ],
)
def test_each_bottleneck_of_the_guide_is_found(trouble, rule):
    assert rule in _rules(_chunks(**trouble))


def test_a_queue_that_runs_dry_is_found():
    assert "starved" in _rules(_chunks(depths=(0, 20)))


def test_too_few_chunks_to_say_anything_are_found():
    assert "too-few-ticks" in _rules(_chunks(number=5))


def test_a_policy_that_nobody_compiled_is_found():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("get_actions", range(40), warmup=0):
        with recorder.section("get_actions.policy_inference"):
            recorder.advance(60 * MS)
    recorder.gauge("torch/compiled", 0)
    assert "no-compilation" in _rules(recorder.snapshot())


def test_chunks_of_which_few_actions_are_executed_are_found():
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("control", range(200), hz=30, warmup=0):
        recorder.gauge("ActionQueue depth", 4 - tick % 4)
        if tick % 4 == 0:
            with recorder.section("get_actions.policy_inference"):
                recorder.advance(60 * MS)
        with recorder.section("robot.send_action"):
            recorder.advance(MS)
    assert "horizon" in _rules(recorder.snapshot())
