"""The four rules with a threshold for a single section: programs that trigger them, and programs that must not."""

from __future__ import annotations

import pytest

from support.findings import findings
from support.virtual_programs import MS, Program, with_node
from ticktree.analysis import Settings
from ticktree.analysis.finding import Thresholds
from ticktree.analysis.registry import RULES
from ticktree.profile import Memory

MB = 1_000_000
NAMES = {"critical", "slow", "memory", "gpu-memory"}


def findings_of(profile, **thresholds):
    settings = Settings(thresholds=Thresholds(**thresholds))
    rules = [rule for rule in RULES if rule.name in NAMES]
    return findings(profile, settings, rules)


def messages_of(profile, **thresholds):
    return {(finding.rule, finding.path) for finding in findings_of(profile, **thresholds)}


def trainer(sample_ms=20, forward_ms=40, **options) -> Program:
    """Ten ticks of 100 ms, of which 40 are the loop's own."""
    program = Program()
    for _ in program.loop("train", range(10), **options):
        program.take(20)
        program.work("sample", sample_ms)
        with program.section("update"):
            with program.section("actor"):
                program.work("forward", forward_ms)
            program.take(20)
    return program


def test_what_takes_more_than_30_percent_of_a_tick_is_critical_and_its_parents_are_not():
    (finding,) = findings_of(trainer().profile())
    assert (finding.rule, finding.kind, finding.severity) == ("critical", "size", "info")
    assert (finding.path, finding.loop) == ("train/update/actor/forward", "train")
    assert finding.message == (
        "forward takes 40% of a tick of train; without it a tick of train would take 60.0 ms instead of "
        "100 ms"
    )
    assert finding.saving.share == pytest.approx(0.4)
    assert (finding.facts["self_per_tick_ns"], finding.facts["calls"]) == (40 * MS, 10)


def test_if_all_sections_take_a_similar_share_none_is_critical():
    assert findings_of(trainer(sample_ms=29, forward_ms=29).profile()) == []


def test_the_loops_own_time_and_that_of_a_section_with_sections_are_named_so():
    program = Program()
    for _ in program.loop("train", range(10)):
        program.take(40)
        with program.section("update"):
            program.take(45)
            program.work("forward", 1)
    assert [finding.message.partition(" takes")[0] for finding in findings_of(program.profile())] == [
        "update [self]",
        "train [self]",
    ]


def test_a_loop_that_holds_its_rate_has_nothing_critical_in_it():
    def control(pace_ms):
        program = Program()
        for _ in program.loop("control", range(10), hz=100):
            program.work("act", 5)
            program.work("look", 1)
            program.work("sleep", pace_ms, wait=True)
        return program.profile()

    assert messages_of(control(4)) == set()
    assert messages_of(control(0)) == {("critical", "control/act")}


def test_if_there_is_only_one_section_its_share_is_not_reported():
    program = Program()
    for _ in program.loop("train", range(10)):
        program.work("everything", 20)
    assert messages_of(program.profile()) == set()


def test_waits_and_concurrent_sections_are_not_critical():
    program = Program()
    for _ in program.loop("train", range(10)):
        program.work("receive", 60, wait=True)
        for name in "abcd":
            program.work(name, 10)
        program.record_duration("server", 0.5)
    assert messages_of(program.profile()) == set()


def test_without_a_loop_the_run_is_judged_in_seconds():
    program = Program()
    program.work("load", 4000)
    program.work("solve", 900)
    program.work("save", 90)
    critical, slow = findings_of(program.profile())
    assert (
        critical.message
        == "load takes 80% of the run; without it the run would take 990 ms instead of 4.99 s"
    )
    assert critical.saving.share == pytest.approx(4000 / 4990)
    assert critical.facts["self_in_total_ns"] == 4000 * MS
    assert (slow.rule, slow.path) == ("slow", "solve")


def test_in_a_loop_that_is_a_lesser_part_of_the_run_less_is_at_stake():
    program = Program()
    for _ in program.loop("fill", range(10)):
        program.work("env", 10)
        program.work("store", 0.5)
    for _ in program.loop("train", range(10)):
        program.work("learn", 40)
        for name in "abc":
            program.work(name, 20)
    learn, env = findings_of(program.profile())
    assert (learn.path, learn.saving.share) == ("train/learn", pytest.approx(0.4))
    assert learn.loop == "train"
    assert (env.path, env.saving.share) == ("fill/env", pytest.approx(10 / 10.5))
    assert env.impact == pytest.approx(100 / 1105)  # of the run


def test_a_section_of_more_than_100_ms_a_call_is_slow():
    program = Program()
    for tick in program.loop("train", range(100)):
        program.work("learn", 70)
        with program.section("other"):
            for name in "abc":
                program.work(name, 20)
        if tick == 50:
            program.work("checkpoint", 130)
    critical, slow = findings_of(program.profile())
    assert (critical.rule, critical.path) == ("critical", "train/learn")  # and not slow: it takes 70 ms
    assert (slow.rule, slow.severity, slow.path) == ("slow", "info", "train/checkpoint")
    assert (
        slow.message
        == "checkpoint takes 130 ms per call; without it a tick of train would take 130 ms instead of 131 ms"
    )
    assert slow.facts["self_per_call_ns"] == 130 * MS


def test_where_a_tick_takes_seconds_what_is_little_of_it_is_not_slow():
    program = Program()
    for tick in program.loop("train", range(100)):
        program.work("learn", 3000)
        program.work("layer", 140)  # 4% of a tick
        for _ in range(2):
            program.work("head", 110)  # 3% of it, and 6% together
        if tick == 50:
            program.work("checkpoint", 300)  # 0.1% of all ticks, and 9% of one
    assert messages_of(program.profile()) == {
        ("critical", "train/learn"),
        ("slow", "train/head"),
        ("slow", "train/checkpoint"),
    }


def test_a_critical_section_is_not_reported_as_slow_as_well():
    assert messages_of(trainer(forward_ms=400).profile()) == {("critical", "train/update/actor/forward")}


def test_what_is_long_for_what_is_in_it_is_not_slow():
    program = Program()
    for _ in program.loop("train", range(10)):
        with program.section("epoch"):
            for number in range(20):
                program.work(f"part {number}", 10)
    assert messages_of(program.profile()) == set()


def test_thresholds_may_be_others():
    profile = trainer().profile()
    assert messages_of(profile, critical_share=0.5) == set()
    assert messages_of(profile, critical_share=0.5, slow_ns=30 * MS) == {
        ("slow", "train/update/actor/forward")
    }


def grown(profile, path, growth, **fields):
    return with_node(profile, path, memory=Memory(10, 0, 900 * MB, growth_bytes=growth, **fields))


def test_a_section_that_needs_more_than_100_mb_is_named_with_what_it_needs():
    profile = grown(trainer(20, 25).profile(), "train/sample", 151 * MB)
    (finding,) = findings_of(profile)
    assert (finding.rule, finding.severity, finding.path) == ("memory", "info", "train/sample")
    assert finding.message == "a call of sample needs at least 151 MB beyond what was allocated before"
    assert finding.facts == {
        "section": "train/sample",
        "needed_bytes": 151 * MB,
        "peak_bytes": 900 * MB,
        "calls_measured": 10,
        "is_exact": False,
    }
    (exact,) = findings_of(grown(profile, "train/sample", 151 * MB, is_exact=True))
    assert exact.message == "a call of sample needs 151 MB beyond what was allocated before"


def test_the_peak_of_the_process_alone_is_no_fact_about_a_section():
    profile = trainer(20, 25).profile()
    assert messages_of(grown(profile, "train/sample", None)) == set()
    assert messages_of(grown(profile, "train/sample", 99 * MB)) == set()
    assert messages_of(grown(profile, "train/sample", 99 * MB), memory_bytes=50 * MB) == {
        ("memory", "train/sample")
    }


def test_of_a_chain_of_parents_the_last_that_needs_it_is_named():
    profile = trainer(20, 25).profile()
    for path, growth in (
        ("train/update", 210),
        ("train/update/actor", 205),
        ("train/update/actor/forward", 200),
    ):
        profile = grown(profile, path, growth * MB)
    assert messages_of(profile) == {("memory", "train/update/actor/forward")}
    assert messages_of(grown(profile, "train/update", 900 * MB)) == {
        ("memory", "train/update"),
        ("memory", "train/update/actor/forward"),
    }


def test_a_devices_memory_is_judged_by_itself():
    device = Memory(10, 0, 7300 * MB, growth_bytes=2100 * MB, is_exact=True, devices=frozenset({"cuda:0"}))
    profile = with_node(trainer(20, 25).profile(), "train/update/actor/forward", device_memory=device)
    (finding,) = findings_of(profile)
    assert (finding.rule, finding.path) == ("gpu-memory", "train/update/actor/forward")
    assert finding.message == "a call of forward needs 2.10 GB of cuda:0 beyond what was allocated before"
    assert messages_of(profile, device_memory_bytes=3000 * MB) == set()


def test_time_outside_all_sections_is_no_section_to_work_on():
    program = Program()
    program.recorder.enable()
    program.take(900)
    program.work("load", 10)
    program.work("save", 10)
    assert messages_of(program.profile()) == set()
