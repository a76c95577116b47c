from __future__ import annotations

import pytest

from ticktree.analysis.rules.unused_gradients import GAUGE, SECTION, UnusedGradientsRule

RULE = UnusedGradientsRule()


def train(program, backward=SECTION, ms=784.0, updates=20):
    """Visual SAC's update, as it was measured."""
    for _ in program.ticks(updates, "train"):
        program.spend("critics", 674)
        with program.inside("actor"):
            program.spend("forward", 255)
            with program.inside("backward"):
                program.spend(backward, ms)
    program.gauge(GAUGE, 0.68)


def test_a_pass_with_unused_gradients_is_told_with_all_it_takes(program):
    train(program)
    (found,) = program.found(RULE)
    assert found.path == f"train/actor/backward/{SECTION}"
    assert found.severity == "critical"
    assert found.saving.share == pytest.approx(784 / 1713)
    assert found.message.startswith(
        "the backward pass in backward of actor (784 ms, 46% of train) also computes"
    )
    assert "68% of all it computes" in found.message


def test_another_pass_is_not_spoken_of(program):
    train(program, backward="backward pass")
    assert program.found(RULE) == []


def test_nor_one_that_takes_less_than_a_hundredth_of_the_loop(program):
    train(program, ms=9)
    assert program.found(RULE) == []


def test_nor_one_of_a_few_calls(program):
    train(program, updates=2)
    assert program.found(RULE) == []
