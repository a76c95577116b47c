from __future__ import annotations

import pytest

from ticktree.analysis.rules.torch import UNUSED_GAUGE, UNUSED_SECTION, UNUSED_TIME_GAUGE, UnusedGradientsRule

RULE = UnusedGradientsRule()


def train(program, backward=UNUSED_SECTION, ms=784.0, updates=20):
    """Visual SAC's update, as it was measured."""
    for _ in program.ticks(updates, "train"):
        program.spend("critics", 674)
        with program.inside("actor"):
            program.spend("forward", 255)
            with program.inside("backward"):
                program.spend(backward, ms)
    program.gauge(UNUSED_GAUGE, 0.68)


def test_a_pass_with_unused_gradients_is_reported_with_its_time(program):
    train(program)
    (finding,) = program.found(RULE)
    assert finding.path == f"train/actor/backward/{UNUSED_SECTION}"
    assert finding.severity == "warning"
    assert finding.saving.share == pytest.approx(0.5 * 0.68 * 784 / 1713)
    assert finding.message == (
        "Freeze the parameters that actor does not update during its backward pass "
        "(requires_grad_(False)): 68% of its gradients are cleared unused, and the pass is 46% of a tick "
        "of train"
    )


def test_in_a_loop_that_trains_several_networks_the_pass_is_named(program):
    for _ in program.ticks(20, "env"):
        program.spend(UNUSED_SECTION, 5, at=("/home/me/td3.py", 301, "train"))
        program.spend("rest", 5)
    program.gauge(f"{UNUSED_GAUGE}td3.py:301", 0.5)
    program.gauge(f"{UNUSED_GAUGE}td3.py:295", 0.1)  # of another pass
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Freeze the parameters that the step after the backward pass at td3.py:301 does not update "
        "(requires_grad_(False) during it): 50% of its gradients are cleared unused, and the pass is 50% of a tick "
        "of env"
    )


def test_where_the_time_of_unused_gradients_was_measured_it_is_the_saving(program):
    train(program)
    program.gauge(UNUSED_TIME_GAUGE, 0.55)
    (finding,) = program.found(RULE)
    assert finding.saving.share == pytest.approx(0.55 * 784 / 1713)
    assert (
        "68% of its gradients are cleared unused and take 55% of its time, and the pass is 46%"
        in finding.message
    )


def test_another_pass_is_not_reported(program):
    train(program, backward="backward pass")
    assert program.found(RULE) == []


def test_a_pass_of_less_than_a_hundredth_of_the_loop_is_not_reported(program):
    train(program, ms=9)
    assert program.found(RULE) == []


def test_a_pass_of_a_few_calls_is_not_reported(program):
    train(program, updates=2)
    assert program.found(RULE) == []
