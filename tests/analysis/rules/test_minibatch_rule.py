"""Gradient steps that a larger minibatch would make fewer of, and those that it would not."""

from __future__ import annotations

import pytest

from support.findings import findings
from support.rule_programs import Program
from ticktree.analysis.rules.torch import SmallMinibatchesRule


def findings_of(
    steps: int, pass_ms: float, step_ms: float, rest_ms: float, name: str = "optimizer step Adam"
):
    with Program() as program:
        for _ in program.ticks(30, "iteration"):
            program.spend("rollout", rest_ms)
            with program.inside("train"):
                for _ in range(steps):
                    program.spend("forward Agent", 0.1)
                    program.spend("backward", pass_ms)
                    program.spend(name, step_ms)
        return findings(program.profile(), rules=[SmallMinibatchesRule()])


def test_many_short_gradient_steps_are_one_finding_for_half_of_all_that_belongs_to_them() -> None:
    (finding,) = findings_of(steps=32, pass_ms=0.4, step_ms=0.2, rest_ms=9.6)
    assert finding.path == "iteration/train/backward"
    assert finding.loop == "iteration"
    assert finding.saved_share == pytest.approx(0.35)  # half of the forward passes, too
    assert finding.message == (
        "Use larger minibatches, if learning allows: a tick of iteration has 32 gradient steps of 600 µs (backward "
        "pass and optimizer), 60% of it, and one of twice as many samples takes little longer"
    )


@pytest.mark.parametrize(
    "program",
    [
        {"steps": 32, "pass_ms": 1.4, "step_ms": 0.2, "rest_ms": 5},  # long: the samples themselves cost
        {"steps": 2, "pass_ms": 0.4, "step_ms": 0.2, "rest_ms": 1},  # not minibatches
        {"steps": 32, "pass_ms": 0.2, "step_ms": 0.1, "rest_ms": 50},  # not much of the loop
        {
            "steps": 32,
            "pass_ms": 0.4,
            "step_ms": 0.2,
            "rest_ms": 5,
            "name": "apply",
        },  # no step of an optimizer
    ],
)
def test_long_few_and_unimportant_steps_are_none(program) -> None:
    assert findings_of(**program) == []
