"""Trainings that evaluate their policy for much of their time."""

from __future__ import annotations

import pytest

from ticktree.analysis.rules.sections import EvaluationRule

RULE = EvaluationRule()


def training(program, evaluating_ms, every=1, ticks=20, name="evaluate_policy"):
    for tick in program.ticks(ticks, "iteration"):
        program.spend("train", 60)
        if tick % every == 0:
            with program.inside("callback EvalCallback"):
                program.spend(name, evaluating_ms)
    return program.found(RULE)


def test_evaluations_that_are_much_of_a_tick_are_reported(program):
    (finding,) = training(program, 40)
    assert finding.path == "iteration/callback EvalCallback/evaluate_policy"
    assert finding.message == (
        "Evaluate less often, or over fewer episodes: evaluate_policy takes 40% of a tick of iteration, in 20 calls "
        "of 40.0 ms"
    )
    assert finding.saving.share == pytest.approx(0.4)


@pytest.mark.parametrize(
    "evaluations",
    [{"every": 3}, {"ticks": 2}, {"name": "evaluate"}],
    ids=["now and then", "at both ends", "another function"],
)
def test_other_evaluations_are_left_alone(program, evaluations):
    assert training(program, 40, **evaluations) == []
