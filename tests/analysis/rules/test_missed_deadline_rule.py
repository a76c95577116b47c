from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from support.findings import findings
from support.rule_programs import MS
from ticktree.analysis.rules.deadlines import MissedDeadlineRule
from ticktree.profile import Causes, Lateness

RULE = MissedDeadlineRule()
linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")


def control(program, ticks=300, slow=(), hz=30, inside=0.0):
    """A robot's loop: 2 ms of observing, and an inference of 22 ms, in slow ticks of 41."""
    for tick in program.ticks(ticks, hz=hz, warmup=0):
        program.spend("observe", 2)
        with program.inside("act"):
            program.spend("inference", 41 if tick in slow else 22)
        program.recorder.advance(round(inside * MS))


def test_the_section_that_takes_longer_in_missed_ticks_is_named(program):
    control(program, slow=[50, 51, 52, *range(100, 111)])
    (finding,) = program.found(RULE)
    assert finding.message == (
        "control misses 14 of 300 ticks (5%), up to 11 in a row: inference takes 41.0 ms in those and "
        "22.0 ms in the others"
    )
    assert (finding.rule, finding.severity, finding.path) == ("missed-deadline", "warning", "control")
    facts = finding.facts
    assert (facts["missed"], facts["ticks"], facts["longest_run"]) == (14, 300, 11)
    assert facts["section"] == "control/act/inference"
    assert (facts["in_missed_ticks_ns"], facts["in_kept_ticks_ns"]) == (41 * MS, 22 * MS)
    assert facts["mean_lateness_ns"] == facts["max_lateness_ns"] == 43 * MS - 33_333_333


def test_a_loop_that_keeps_its_budget_is_not_reported(program):
    control(program)
    assert program.found(RULE) == []


def test_a_loop_without_a_budget_is_not_reported(program):
    control(program, hz=None, slow=range(50))
    assert program.found(RULE) == []


def test_one_late_tick_in_two_thousand_is_not_reported(program):
    for tick in program.ticks(2000, hz=1000, warmup=0):
        program.spend("step", 2 if tick == 999 else 0.5)
    assert program.found(RULE) == []


def test_a_few_ticks_give_no_finding(program):
    control(program, ticks=9, slow=range(5, 9))
    assert program.found(RULE) == []


def test_misses_of_the_warm_up_are_not_reported(program):
    for tick in program.ticks(100, hz=30, warmup=None):
        program.spend("inference", 4000 if tick == 0 else 22)
    assert program.found(RULE) == []


def test_where_every_tick_misses_the_budget_is_too_small_and_the_largest_section_is_named(program):
    control(program, ticks=40, hz=50)
    (finding,) = program.found(RULE)
    assert finding.severity == "critical"
    assert finding.message == (
        "control misses all of its 40 ticks: it is busy for 24.0 ms per tick, and its rate allows 20.0 "
        "ms; act takes most of that, 22.0 ms"
    )
    assert finding.facts["section"] == "control/act"


def test_waits_are_neither_work_nor_to_blame(program):
    for tick in program.ticks(100, hz=30, warmup=0):
        slow = tick % 10 == 9
        with program.inside("observe"):
            program.spend("camera", 900 if slow else 5, wait=True)
            program.spend("decode", 5)
        program.spend("inference", 35 if slow else 20)
    (finding,) = program.found(RULE)
    assert (
        finding.message
        == "control misses 10 of 100 ticks (10%): inference takes 35.0 ms in those and 20.0 ms in the others"
    )


def test_time_outside_of_all_sections_is_blamed_as_such(program):
    for tick in program.ticks(100, hz=30, warmup=0):
        program.spend("inference", 20)
        program.recorder.advance((30 if tick % 20 == 7 else 3) * MS)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "control misses 5 of 100 ticks (5%): self time of control takes 30.0 ms in those and 3.00 ms in "
        "the others"
    )
    assert finding.facts["section"] == "control"


def test_two_sections_that_share_the_blame_are_both_named(program):
    for tick in program.ticks(100, hz=30, warmup=0):
        slow = tick % 20 == 7
        program.spend("inference", 30 if slow else 20)
        program.spend("observe", 9 if slow else 2)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "control misses 5 of 100 ticks (5%): inference takes 30.0 ms in those and 20.0 ms in the others; "
        "observe takes 9.00 ms in those and 2.00 ms in the others"
    )


@linux
def test_a_pause_of_the_garbage_collector_is_named(program):
    for tick in program.ticks(300, hz=30, warmup=0):
        with program.inside("inference"):
            program.recorder.advance(22 * MS)
            if tick % 30 == 11:
                program.recorder.gc_pause(True)
                program.recorder.advance(15 * MS)
                program.recorder.gc_pause(False)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "control misses 10 of 300 ticks (3%): inference takes 37.0 ms in those and 22.0 ms in the "
        "others; the garbage collector takes 15.0 ms of it"
    )
    assert finding.facts["cause"] == "gc"


@linux
def test_a_pause_that_all_ticks_have_is_no_cause(program):
    for tick in program.ticks(100, hz=30, warmup=0):
        with program.inside("inference"):
            program.recorder.gc_pause(True)
            program.recorder.advance(5 * MS)
            program.recorder.gc_pause(False)
            program.recorder.advance((36 if tick % 10 == 5 else 20) * MS)
    (finding,) = program.found(RULE)
    assert "garbage" not in finding.message
    assert "cause" not in finding.facts


@pytest.mark.parametrize(
    ("missed", "cause", "words"),
    [
        (
            Causes(10, involuntary_switches=30),
            "preemption",
            "its core 3.0 times in each, 0.0 times in the others",
        ),
        (Causes(10, major_faults=20), "disk", "2 more pages of memory are read from a disk in each"),
        (
            Causes(10, minor_faults=30_000),
            "page faults",
            "3,000 more pages of memory are touched",
        ),
        (Causes(10, voluntary_switches=500, minor_faults=30), None, "22.0 ms in the others"),
    ],
)
def test_what_the_system_did_is_named_where_it_did_it_in_missed_ticks_alone(program, missed, cause, words):
    control(program, ticks=100, slow=range(5, 100, 10))
    profile = program.profile()
    loop = replace(profile.loops["control"], missed_causes=missed, causes=Causes(90) + missed)
    (finding,) = findings(replace(profile, loops={"control": loop}), rules=[RULE])
    assert finding.facts.get("cause") == cause
    assert words in finding.message


def test_a_section_that_compiles_is_a_cause(program):
    for tick in program.ticks(100, hz=30, warmup=0):
        with program.inside("inference"):
            program.recorder.advance(10 * MS)
            if tick in (40, 70):
                program.spend("torch compile", 900)
    (finding,) = program.found(RULE)
    assert finding.facts["section"] == "control/inference/torch compile"
    assert finding.facts["cause"] == "compiling"
    assert (
        finding.message
        == "control misses 2 of 100 ticks (2%): torch compile takes 900 ms in those and 0 ns in the others"
    )


def test_a_file_without_facts_about_missed_ticks_still_gives_their_number(program):
    control(program, slow=range(50, 110, 4))
    profile = program.profile()
    old = replace(
        profile.loops["control"],
        missed_ns=None,
        missed_breakdown={},
        causes=None,
        missed_causes=None,
        lateness=Lateness(15, 15 * 10 * MS, 10 * MS),
    )
    (finding,) = findings(replace(profile, loops={"control": old}), rules=[RULE])
    assert finding.message == "control misses 15 of 300 ticks (5%)"


@pytest.mark.parametrize(("misses", "severity"), [(1, "info"), (3, "warning"), (20, "critical")])
def test_how_severe_it_is_goes_by_the_part_that_is_missed(program, misses, severity):
    control(program, ticks=200, slow=range(100, 100 + misses))
    (finding,) = program.found(RULE)
    assert finding.severity == severity


def test_what_another_thread_did_in_a_section_of_the_name_is_not_taken_for_a_tick(program):
    import threading

    from ticktree.recorder import install, uninstall

    install(program.recorder)
    try:
        for tick in program.ticks(60, hz=30, warmup=0):
            helper = threading.Thread(target=program.spend, args=("decode", 0))
            helper.start()
            helper.join()
            program.spend("decode", 30 if tick % 10 == 3 else 5)
            program.spend("inference", 8 if tick % 10 == 3 else 5)
    finally:
        uninstall(program.recorder)
    (finding,) = program.found(RULE)
    assert "decode" not in finding.message  # how much of it was in ticks is not known
    # On a busy machine the real threads of this test lose their cores, and the sentence may say so as well.
    assert ": inference takes 8.00 ms in those and 5.00 ms in the others" in finding.message
