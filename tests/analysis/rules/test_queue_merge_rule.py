from __future__ import annotations

import pytest

from support.rule_programs import robot_tick
from ticktree.analysis.rules.robot import QueueMergeRule

RULE = QueueMergeRule()


def test_a_merge_that_takes_a_tenth_of_its_inference_is_reported(program):
    for _ in program.ticks(20):
        robot_tick(program, merge=12)
    (finding,) = program.found(RULE)
    assert (finding.rule, finding.path) == (
        "queue-merge",
        "control/get_actions/get_actions.action_queue_merge",
    )
    assert finding.saving.share == pytest.approx(12 / 124)
    assert finding.facts["of_inference_share"] == pytest.approx(0.12)
    assert finding.message == (
        "Write new chunks into a ring of fixed size instead of building the queue again: "
        "get_actions.action_queue_merge takes 12.0 ms per call, 10% of a tick of control and 12% as long "
        "as the inference it follows"
    )


def test_a_quick_merge_is_not_reported(program):
    for _ in program.ticks(20):
        robot_tick(program, merge=2)
    assert program.found(RULE) == []


def test_a_merge_next_to_a_long_inference_is_not_reported_though_it_is_frequent(program):
    for _ in program.ticks(20):
        robot_tick(program, inference=300, merge=14)
        program.spend("drive", 1)
    assert program.found(RULE) == []


def test_the_message_states_that_a_merge_grows(program):
    for tick in program.ticks(90):
        robot_tick(program, merge=5 + tick)
    (finding,) = program.found(RULE)
    assert finding.facts["as_long_at_the_end_factor"] > 2
    assert "as long at the end of the run as at its beginning" in finding.message


def test_the_message_states_how_long_a_merge_waits(program):
    for _ in program.ticks(20):
        program.spend("policy_inference", 100)
        with program.inside("action_queue_merge"):
            program.spend("acquire", 15, wait=True)
            program.spend("copy", 1)
    (finding,) = program.found(RULE)
    assert finding.facts["waited_share"] == pytest.approx(15 / 16)
    assert finding.message == (
        "Hold the queue's lock only to swap in the finished chunk: action_queue_merge takes 16.0 ms per "
        "call, 14% of a tick of control and 16% as long as the inference it follows, and 94% of that is "
        "waiting"
    )
