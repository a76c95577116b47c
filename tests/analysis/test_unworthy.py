from __future__ import annotations

import pytest

from support.virtual_programs import Program
from ticktree.analysis.bottlenecks import not_worth_doing
from ticktree.analysis.context import Context


def unworthy(program):
    (view,) = Context(program.profile()).loops
    return {one.section.node.name: one.saving.speedup for one in not_worth_doing(view)}


def ticks(*sections) -> Program:
    program = Program()
    for _ in program.loop("loop", range(3)):
        for name, ms, *options in sections:
            program.work(name, ms, **(options[0] if options else {}))
    return program


def test_suspects_come_first_then_the_longest_at_most_three():
    program = ticks(("learn", 950), ("odd", 20), ("strange", 15), ("sample", 7), ("log", 5), ("curious", 3))
    assert list(unworthy(program)) == ["sample", "log", "odd"]
    assert unworthy(program)["sample"] == pytest.approx(1000 / 993)


def test_a_section_worth_five_percent_is_not_listed():
    assert unworthy(ticks(("learn", 950), ("sample", 50))) == {}
    assert list(unworthy(ticks(("learn", 955), ("sample", 45)))) == ["sample"]


def test_tiny_sections_are_not_listed():
    assert unworthy(ticks(("learn", 999.5), ("sample", 0.5))) == {}


def test_a_section_is_named_with_all_below_it_and_not_what_is_below():
    program = Program()
    for _ in program.loop("loop", range(3)):
        program.work("learn", 980)
        with program.section("sample"):
            program.work("gather", 8)
            program.work("log", 4)
    assert unworthy(program) == {"sample": pytest.approx(992 / 980)}


def test_waits_and_concurrent_sections_are_not_listed():
    program = ticks(("learn", 980), ("sample", 10, {"wait": True}))
    program.record_duration("loop/log", 0.001)
    assert unworthy(program) == {}
