from __future__ import annotations

import pytest

from support.findings import findings
from support.steady_loops import watched
from ticktree.analysis.rules.deadlines import SpikesRule
from ticktree.analysis.rules.memory import GarbageCollectionRule

RULE = SpikesRule()


def control(program, long_ms=50.0, every=100, ticks=600, hz=None, section="decide"):
    for tick in program.ticks(ticks, hz=hz, warmup=0):
        is_long = tick % every == every - 1
        with program.inside("plan"):
            program.spend("decide", long_ms if is_long and section == "decide" else 1)
        program.spend("act", 1)
        if is_long and section != "decide":
            program.spend(section, long_ms)


def test_one_long_call_in_a_hundred_ticks_is_reported_with_its_section(program):
    control(program)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Do the rare work of decide in another thread, or a part of it in each tick: in 6 of 600 ticks "
        "of control, one in 100, it takes 50.0 ms, in the others 1.00 ms"
    )
    assert (finding.path, finding.loop) == ("control/plan/decide", "control")
    assert finding.saving.share == pytest.approx(6 * 49 / (600 * 2 + 6 * 49), rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"long_ms": 5},  # of 2 ms: not five times
        {"every": 10},  # a second kind of ticks
        {"every": 300},  # two of them may be chance
        {"hz": 200.0},  # the rule missed-deadline
        {"section": "update"},  # done every so many ticks by plan
    ],
)
def test_scatter_chance_and_what_is_planned_are_no_spikes(program, options):
    control(program, **options)
    assert program.found(RULE) == []


def test_while_other_processes_take_the_cores_there_is_no_finding(program):
    control(program)
    busy = watched(program.profile(), used=[0.7] * 9, others=[1.3] * 9, waiting=[0.3] * 9)
    assert findings(busy, rules=[RULE]) == []
    quiet = watched(program.profile(), used=[0.7] * 9, others=[0.0] * 9, waiting=[0.0] * 9)
    assert len(findings(quiet, rules=[RULE])) == 1


def test_pauses_of_the_garbage_collector_are_not_called_rare_work_of_the_section_they_were_in(program):
    for tick in program.ticks(600, warmup=0):
        with program.inside("decide"):
            program.spend("look", 1)
            if tick % 100 == 99:
                program.recorder.gc_pause(True)
                program.recorder.advance(50_000_000)
                program.recorder.gc_pause(False)
    assert program.found(RULE) == []
    assert [found.facts["of_worst_ticks"] for found in program.found(GarbageCollectionRule())] == [6]
