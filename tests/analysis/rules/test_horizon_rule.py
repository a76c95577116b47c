from __future__ import annotations

import pytest

from support.rule_programs import robot_tick
from ticktree.analysis.rules.robot import HorizonRule

RULE = HorizonRule()


def chunked(program, horizon, ticks=120, merge=1.0, inference=100.0):
    """A loop that infers a chunk of actions every `horizon` ticks, and executes one of them in each."""
    for tick in program.ticks(ticks, warmup=0):
        if tick % horizon == 0:
            robot_tick(program, inference=inference, merge=merge)
        program.spend("send_action", 5)


def test_five_actions_of_a_chunk_do_not_pay_for_its_inference(program):
    chunked(program, horizon=5)
    (finding,) = program.found(RULE)
    assert finding.path == "control/get_actions/get_actions.policy_inference"
    loop_ns = 120 * 5 + 24 * 113
    assert finding.facts["actions_per_inference"] == 5
    assert finding.saving.share == pytest.approx(24 * 100 / loop_ns / 2)
    assert finding.message == (
        "Execute at least 10 actions per inference: get_actions.policy_inference (100 ms) serves 5 ticks "
        "of control, which costs each of them 20.0 ms, 72% of the tick"
    )


def test_ten_actions_do(program):
    chunked(program, horizon=10)
    assert program.found(RULE) == []


def test_a_policy_called_in_every_tick_has_no_horizon(program):
    chunked(program, horizon=1, merge=0)
    assert program.found(RULE) == []


def test_a_policy_whose_actions_are_repeated_has_no_horizon(program):
    chunked(program, horizon=4, merge=0)
    assert program.found(RULE) == []


def test_a_queue_of_actions_tells_that_there_are_chunks(program):
    for tick in program.ticks(120, warmup=0):
        if tick % 4 == 0:
            program.spend("policy", 60)
        program.gauge("action queue depth", 4 - tick % 4)
        program.spend("send_action", 5)
    (finding,) = program.found(RULE)
    assert finding.facts["actions_per_inference"] == 4


def test_merging_the_actions_of_several_models_does_not(program):
    for _ in program.ticks(120, hz=10, warmup=0):
        program.spend("policy", 60)
        program.spend("self._action_merger.step(actions)", 5)
        program.spend("send_action", 5)
    assert program.found(RULE) == []


def test_any_other_queue_does_not(program):
    for tick in program.ticks(120, hz=10, warmup=0):
        if tick % 4 == 0:
            program.spend("policy", 60)
        program.gauge("replay buffer", tick)
        program.spend("send_action", 5)
    assert program.found(RULE) == []


def test_a_cheap_inference_needs_no_horizon(program):
    chunked(program, horizon=2, inference=1)
    assert program.found(RULE) == []


def test_a_loop_that_only_infers_may_turn_as_often_as_it_likes(program):
    for _ in program.ticks(40, "control", hz=100, pace=True):
        program.spend("send_action", 5)
    for tick in program.ticks(60, "get_actions"):
        if tick % 3 == 0:
            robot_tick(program, merge=1)
        program.spend("wait for room", 1)
    assert program.found(RULE) == []
