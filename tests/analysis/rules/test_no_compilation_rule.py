from __future__ import annotations

import pytest

from support.rule_programs import robot_tick
from ticktree.analysis.rules.torch import COMPILED_GAUGE, NoCompilationRule

RULE = NoCompilationRule()


def infer(program, compiled, inference=100.0):
    if compiled is not None:
        program.gauge(COMPILED_GAUGE, 0)
        program.gauge(COMPILED_GAUGE, compiled)
    for _ in program.ticks(20):
        robot_tick(program, inference=inference)


def test_a_loop_of_inference_that_is_not_compiled_is_reported(program):
    infer(program, compiled=0)
    (finding,) = program.found(RULE)
    assert finding.path == "control/get_actions/get_actions.policy_inference"
    assert finding.saving.share == pytest.approx(100 / 112 * (1 - 1 / 2.27))
    assert finding.message == (
        "Compile the policy (torch.compile), if torch runs it: get_actions.policy_inference (100 ms per "
        "call) is inference, 89% of the busy time of control, and nothing is compiled"
    )


def test_where_something_is_compiled_it_is_silent(program):
    infer(program, compiled=1)
    assert program.found(RULE) == []


def test_without_the_instrument_of_torch_there_is_no_finding(program):
    infer(program, compiled=None)
    assert program.found(RULE) == []


def test_inference_that_is_waited_for_is_made_elsewhere(program):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20):
        with program.inside("policy_inference"):
            program.spend("ask the server", 90, wait=True)
            program.spend("unpack", 10)
    assert program.found(RULE) == []


def test_where_inference_is_not_most_of_the_work_it_is_silent(program):
    infer(program, compiled=0, inference=10)
    assert program.found(RULE) == []


def test_acting_on_a_robot_is_no_inference(program):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20):
        with program.inside("act"):
            program.spend("robot.send_action", 30)
        program.spend("think", 10)
    assert program.found(RULE) == []


def test_inference_that_would_gain_the_loop_nothing_is_not_reported(program):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20, hz=10, pace=True):
        program.spend("policy_inference", 1)
    assert program.found(RULE) == []


@pytest.mark.parametrize(("inference", "told"), [(35, False), (60, True)])
def test_a_loop_that_is_late_now_and_then_and_has_time_to_spare_gains_nothing(program, inference, told):
    program.gauge(COMPILED_GAUGE, 0)
    for tick in program.ticks(40, hz=10, pace=True):
        program.spend("policy_inference", inference)
        if tick % 10 == 0:
            program.spend("rest", 90)
    assert bool(program.found(RULE)) is told


@pytest.mark.parametrize("model", ["TopLevelTracedModule", "RecursiveScriptModule", "TracedModule 2"])
def test_torchscript_is_compiled_already(program, model):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20):
        with program.recorder.section("policy_inference"):
            program.spend(f"forward {model}", 100)
    assert program.found(RULE) == []


def acting(program, name, forward_ms, rest_ms):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20):
        with program.inside(name):
            program.spend("forward Sequential", forward_ms)
            program.spend("distribution", rest_ms)
    return program.found(RULE)


def test_of_inference_only_the_forward_passes_can_be_compiled(program):
    assert acting(program, "policy predict", forward_ms=0.15, rest_ms=0.85) == []


def test_a_forward_pass_that_is_most_of_it_is_reported(program):
    (finding,) = acting(program, "policy predict", forward_ms=8, rest_ms=2)
    assert finding.path.endswith("policy predict/forward Sequential")
    assert finding.saving.share == pytest.approx(0.8 * (1 - 1 / 2.27))


def test_the_evaluation_of_a_policy_is_no_inference(program):
    program.gauge(COMPILED_GAUGE, 0)
    for _ in program.ticks(20):
        program.spend("evaluate_policy", 90)
    assert program.found(RULE) == []
