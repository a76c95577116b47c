from __future__ import annotations

from dataclasses import replace

import pytest

from support.findings import findings
from support.virtual_programs import MS
from ticktree.analysis.rules.deadlines import FixedSleepRule, MissedDeadlineRule
from ticktree.profile.loop import Causes

RULE = FixedSleepRule()


def control(program, work_ms=3.0, sleep_ms=10.0, hz=100.0):
    for _ in program.ticks(50, hz=hz, warmup=0):
        program.spend("decide", work_ms)
        program.spend("sleep", sleep_ms, wait=True)


def test_a_fixed_sleep_that_is_recorded_is_reported_with_what_the_loop_would_gain(program):
    control(program)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Sleep only what is left of each tick of control, or use pace=True: ticks take 13.0 ms where the "
        "rate allows 10.0 ms, and only 3.00 ms of that is busy"
    )
    assert finding.saving.ns == pytest.approx(3 * MS)
    assert (finding.path, finding.loop) == ("control", "control")


@pytest.mark.parametrize(
    ("work_ms", "sleep_ms"),
    [(3, 7), (3, 7.4), (12, 3), (12, 0)],  # it holds its rate; nearly; its work does not fit
)
def test_a_loop_that_holds_its_rate_or_has_too_much_to_do_does_not_sleep_a_fixed_time(
    program, work_ms, sleep_ms
):
    control(program, work_ms, sleep_ms)
    assert program.found(RULE) == []


def unrecorded(program, switches):
    """A loop whose sleep is in no section; its thread gives up its core so often per tick."""
    for _ in program.ticks(50, hz=100, warmup=0):
        program.spend("decide", 3)
        program.recorder.advance(10 * MS)
    profile = program.profile()
    loop = profile.loops["control"]
    causes = Causes(50, 0, round(50 * switches), 0, 0, 0)
    return replace(profile, loops={"control": replace(loop, causes=causes, missed_causes=causes, worst=())})


def test_a_sleep_in_no_section_is_recognized_by_the_core_given_up_in_each_tick(program):
    sleeping = unrecorded(program, 1.0)
    (finding,) = findings(sleeping, rules=[MissedDeadlineRule(), RULE])
    assert (finding.rule, finding.severity) == ("fixed-sleep", "critical")  # all ticks would be kept


def test_time_in_no_section_without_giving_up_the_core_is_work(program):
    assert findings(unrecorded(program, 0.1), rules=[RULE]) == []


def test_a_sleep_in_some_ticks_is_what_is_left_of_them(program):
    for tick in program.ticks(60, hz=100, warmup=0):
        program.spend("decide", 5 if tick % 3 else 12)
        if tick % 3 == 0:
            program.spend("sleep", 15, wait=True)
    assert program.found(RULE) == []
