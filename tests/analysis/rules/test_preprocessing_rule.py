from __future__ import annotations

import pytest

from support.rule_programs import robot_tick
from support.virtual_programs import MS
from ticktree.analysis.finding import Settings
from ticktree.analysis.rules.robot import PreprocessingRule

RULE = PreprocessingRule()


def test_preprocessing_out_of_proportion_to_its_inference_is_reported(program):
    for _ in program.ticks(20):
        robot_tick(program, preprocessing=60, inference=100)
    (finding,) = program.found(RULE)
    assert finding.path == "control/get_actions/get_actions.preprocessing"
    assert finding.severity == "critical"
    assert finding.saving.share == pytest.approx(60 / 162)
    assert finding.facts["inference_per_tick_ns"] == 100_000_000
    assert finding.message == (
        "Prepare fewer or smaller inputs, in one pass into reused memory: preprocessing takes 60.0 ms of "
        "the 162 ms of a tick of control, 60% as long as its inference, where at most 20% is usual, most "
        "of it in get_actions.preprocessing (60.0 ms per call)"
    )


def test_what_the_guide_expects_is_not_reported(program):
    for _ in program.ticks(20):
        robot_tick(program, preprocessing=20, inference=100)
    assert program.found(RULE) == []


def test_without_inference_it_must_be_half_of_the_work_and_sleep_is_none(program):
    for tick in program.ticks(21, hz=10, pace=True):
        program.spend("resize", 30, bytes=900_000)
        program.spend("find the ball", 20)
        program.spend("log", 60 if tick == 10 else 0)  # else it holds its rate, and there is nothing to do
    (finding,) = program.found(RULE)
    assert finding.saving.headroom_ns == 30 * MS
    assert finding.message == (
        "Prepare fewer or smaller inputs, in one pass into reused memory: preprocessing takes 30.0 ms of "
        "the 100 ms of a tick of control, 57% of its busy time, most of it in resize (30.0 ms per call "
        "for 900 kB)"
    )


def test_a_helper_that_is_there_to_prepare_may_do_so(program):
    for _ in range(20):
        with program.inside("helper"):
            program.spend("decode", 20)
            program.spend("enqueue", 5)
    assert program.found(RULE) == []


def test_a_third_of_the_work_without_inference_is_not_reported(program):
    for _ in program.ticks(20):
        program.spend("resize", 10)
        program.spend("find the ball", 20)
    assert program.found(RULE) == []


def test_a_tenth_of_the_loop_is_needed(program):
    for _ in program.ticks(20):
        robot_tick(program, preprocessing=3, inference=10)
        program.spend("drive", 100)
    assert program.found(RULE) == []


def test_a_section_declared_as_preprocessing_in_the_settings_counts(program):
    for _ in program.ticks(20):
        program.spend("munge", 50)
        program.spend("policy", 50)
    assert program.found(RULE) == []
    (finding,) = program.found(RULE, Settings(categories={"preprocessing": ("munge",)}))
    assert finding.path == "control/munge"


def test_nine_calls_are_too_few(program):
    for _ in program.ticks(9):
        robot_tick(program, preprocessing=60)
    assert program.found(RULE) == []


def test_what_a_training_step_prepares_is_not_for_an_inference(program):
    for _ in program.ticks(20, "train"):
        with program.inside("update"):
            program.spend("normalise", 80)
            program.spend("forward", 20)
    assert program.found(RULE) == []
