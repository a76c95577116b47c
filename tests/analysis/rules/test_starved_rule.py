from __future__ import annotations

from collections import deque

import pytest

import ticktree
from support.findings import findings
from support.virtual_programs import Program
from ticktree.analysis.rules.queues import StarvedRule
from ticktree.profile import Profile


def reading(name: str, values) -> Profile:
    """A program that reads a gauge now and then."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for value in values:
        recorder.gauge(name, value)
    profile = recorder.snapshot()
    recorder.disable()
    return profile


def findings_of(profile: Profile):
    return findings(profile, rules=[StarvedRule()])


def acting_on_chunks(ticks: int, *, chunk: int, asked_at: int, takes: int) -> Profile:
    """A loop that acts on chunks of actions: the next is asked for when so many are left, and takes so many ticks."""
    recorder = ticktree.Recorder(virtual_clock=True)
    actions, comes_at = deque(range(chunk)), None
    for tick in recorder.loop("control", range(ticks), hz=30, pace=True):
        if comes_at is None and len(actions) <= asked_at:
            comes_at = tick + takes
        if tick == comes_at:
            actions.extend(range(chunk))
            comes_at = None
        recorder.gauge("action queue depth", len(actions))
        if actions:
            actions.popleft()
    profile = recorder.snapshot()
    recorder.disable()
    return profile


def test_a_loop_that_asks_for_its_next_actions_too_late_runs_dry():
    # 20, 19, ... 4, then 3 (asked), 2, 1, 0, 0, 0, 0 and 20 again: 4 of 24 ticks, 37 whole rounds of them.
    (finding,) = findings_of(acting_on_chunks(900, chunk=20, asked_at=3, takes=7))
    assert finding.rule == "starved"
    assert finding.message == "Fill action queue depth faster: it is 0 in 16% of its readings"
    assert (finding.severity, finding.path) == ("warning", "")
    assert finding.facts["readings_at_0"] == 148
    assert finding.facts["empty_share"] == 148 / 900
    assert finding.facts["max_reading"] == 20


@pytest.mark.parametrize(("waits_ms", "is_found"), [(8, True), (1, False)])
def test_a_queue_that_is_always_empty_is_in_use_where_the_loop_waits(waits_ms, is_found):
    program = Program()
    for _ in program.loop("train", range(50)):
        program.recorder.gauge("queue depth", 0)
        program.work("next batch", waits_ms, wait=True)
        program.work("update", 3)
    assert bool(findings_of(program.profile())) == is_found


def test_a_loop_that_asks_in_time_does_not():
    assert findings_of(acting_on_chunks(900, chunk=20, asked_at=8, takes=7)) == []


@pytest.mark.parametrize(
    "name", ["queue_depth", "actionQueue", "frames/backlog", "Buffer", "depth", "replay buffer", "3 queues"]
)
def test_names_of_queue_depths_are_recognized(name):
    assert len(findings_of(reading(name, [0] * 20 + [3] * 80))) == 1


@pytest.mark.parametrize(
    "name",
    [
        "reward",
        "queue wait, ms",
        "buffer_latency",
        "queue.dropped",
        "depth camera",
        "in-depth image",
        "queueing",
        "",
    ],
)
def test_names_that_say_something_else_are_not(name):
    assert findings_of(reading(name, [0] * 20 + [3] * 80)) == []


def test_one_reading_in_a_hundred_may_be_zero():
    assert findings_of(reading("queue", [0] * 10 + [3] * 990)) == []
    assert len(findings_of(reading("queue", [0] * 11 + [3] * 989))) == 1


def test_few_readings_at_zero_say_nothing():
    assert findings_of(reading("queue", [0] * 9 + [3] * 20)) == []


def test_a_queue_that_was_never_used_and_a_value_that_falls_below_zero_are_not_reported():
    assert findings_of(reading("queue", [0] * 500)) == []
    assert findings_of(reading("queue", [0] * 50 + [-1, 3] * 50)) == []


def test_readings_before_the_queue_was_first_filled_do_not_count():
    """A policy whose first chunk takes three seconds: its queue was empty for a hundred ticks, and then never."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in range(450):
        recorder.advance(33_333_333)
        recorder.gauge("action queue depth", 0 if tick < 100 or tick == 300 else 30)
    profile = recorder.snapshot()
    recorder.disable()
    assert profile.gauges["action queue depth"].zeros == 101
    assert findings_of(profile) == []


def test_the_emptiest_queue_is_first():
    recorder = ticktree.Recorder(virtual_clock=True)
    for each in range(100):
        recorder.gauge("queue a", each % 4)
        recorder.gauge("queue b", each % 2)
    profile = recorder.snapshot()
    recorder.disable()
    assert [finding.facts["gauge"] for finding in findings_of(profile)] == ["queue b", "queue a"]
    assert [finding.severity for finding in findings_of(profile)] == ["critical", "warning"]
