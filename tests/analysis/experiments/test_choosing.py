"""What experiments are about: the loop, its sections, and what part of its tick each takes."""

from __future__ import annotations

import pytest

from support.virtual_programs import Program
from ticktree.analysis.experiments.selection import NoExperimentError, choose


@pytest.mark.parametrize("warmup_ms", [1, 30, 300])
def test_shares_are_of_steady_ticks_whatever_the_warm_up_took(warmup_ms):
    program = Program()
    for tick in program.loop("train", range(30), warmup=10):
        with program.section("update"):
            program.take(warmup_ms if tick < 10 else 3)
            program.work("log", 1)
        program.take(4)
    chosen = choose(program.profile(), ["train/update", "train/update/log"])
    assert chosen.is_sequential
    assert chosen.tick_ns == pytest.approx(8e6)
    assert chosen.shares == pytest.approx({"train/update": 4 / 8, "train/update/log": 1 / 8})


def test_sections_before_the_loop_take_no_share_of_its_ticks():
    program = Program()
    program.work("load", 1000)
    for _ in program.loop("train", range(30)):
        program.work("update", 3)
    assert choose(program.profile(), ["load", "train/update"]).shares == pytest.approx(
        {"load": 0, "train/update": 1}
    )


def named_thrice() -> Program:
    """`step` before the loop, in the loop, and in the one in the loop."""
    program = Program()
    with program.section("set up"):
        program.work("step", 10)
    for _ in program.loop("train", range(30)):
        with program.section("step"):
            program.work("step", 3)
        with program.section("evaluate"):
            program.work("read", 1)
        with program.section("log"):
            program.work("read", 1)
    return program


def test_a_name_is_enough_for_the_outermost_section_of_the_loop_that_has_it():
    assert choose(named_thrice().profile(), ["step"]).sections == ["train/step"]


def test_an_ambiguous_section_name_is_refused():
    with pytest.raises(NoExperimentError, match="read is the name of 2 sections: name one by its path"):
        choose(named_thrice().profile(), ["read"])
