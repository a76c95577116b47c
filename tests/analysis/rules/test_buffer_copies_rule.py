from __future__ import annotations

import pytest

from ticktree.analysis.rules.robot import BufferCopiesRule

RULE = BufferCopiesRule()


def chunks(program, name="prev_actions.clone", ms=15.0, every=1, **work):
    for tick in program.ticks(40, "get_actions"):
        program.spend("policy_inference", 100)
        if tick % every == 0:
            program.spend(name, ms, **work)


def test_previous_actions_copied_each_time_are_reported(program):
    chunks(program, bytes=64_000_000)
    (finding,) = program.found(RULE)
    assert finding.path == "get_actions/prev_actions.clone"
    assert finding.saving.share == pytest.approx(15 / 115)
    assert finding.message == (
        "Keep only the actions still to do, in one preallocated tensor on the model's device: "
        "prev_actions.clone copies 64.0 MB in 15.0 ms for each inference, 13% of a tick of get_actions"
    )


def test_a_section_of_that_name_around_copies_is_reported_too(program):
    for _ in program.ticks(20, "get_actions"):
        program.spend("policy_inference", 100)
        with program.inside("previous actions"):
            program.spend("to device", 12, bytes=8_000_000)
    (finding,) = program.found(RULE)
    assert finding.facts["per_call_bytes"] == 8_000_000


def test_that_it_handles_previous_actions_does_not_mean_that_it_copies(program):
    chunks(program, name="prev_actions.score")
    assert program.found(RULE) == []


def test_a_quick_copy_is_not_reported(program):
    chunks(program, ms=2)
    assert program.found(RULE) == []


def test_a_copy_now_and_then_is_not_reported(program):
    chunks(program, ms=60, every=2)
    assert program.found(RULE) == []
