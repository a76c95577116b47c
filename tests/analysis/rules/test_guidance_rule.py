from __future__ import annotations

import pytest

from ticktree.analysis.rules.robot import GuidanceRule

RULE = GuidanceRule()


def chunks(program, depths, guidance=29.0, inference=58.0, gauge="queue depth"):
    """A policy beside a loop of 30 Hz, as it was measured: 58 ms an inference, 87 with guidance."""
    for _ in program.ticks(40, hz=30, pace=True):
        program.spend("send_action", 1)
    for _ in program.ticks(20, "get_actions"):
        with program.inside("policy_inference"):
            program.spend("denoise", inference)
            if guidance:
                program.spend("rtc.guidance_computation", guidance)
    for depth in depths:
        program.gauge(gauge, depth)


def test_guidance_is_expensive_if_the_queue_never_ran_low(program):
    chunks(program, depths=[0, 0, *[20 + n % 30 for n in range(300)]])
    (finding,) = program.found(RULE)
    assert finding.path == "get_actions/policy_inference/rtc.guidance_computation"
    assert finding.severity == "info"  # it runs beside the loop, which is not slower for it
    assert finding.facts["guidance_per_inference_ns"] == 29_000_000
    assert finding.facts["inference_ns"] == 87_000_000
    assert finding.message == (
        "Freeze or compile the policy while rtc.guidance_computation guides it, or do without guidance: "
        "it takes 29.0 ms of each inference of 87.0 ms (33%), and queue depth is rarely below 21, where "
        "an inference takes 2.6 ticks: there is time to execute the old chunk to its end"
    )


def test_guidance_is_expensive_if_the_queue_runs_empty_nevertheless(program):
    chunks(program, depths=[n % 20 for n in range(300)])
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Freeze or compile the policy while rtc.guidance_computation guides it, or do without guidance: "
        "it takes 29.0 ms of each inference of 87.0 ms (33%), and queue depth is still 0 in 5% of its "
        "readings"
    )
    assert finding.facts["readings_at_0"] == 15


def test_where_the_queue_comes_near_its_end_guidance_may_be_what_saves_it(program):
    chunks(program, depths=[3 + n % 20 for n in range(300)])
    assert program.found(RULE) == []


def test_the_empty_queue_at_the_beginning_of_a_run_is_not_held_against_it(program):
    chunks(program, depths=[0] * 9 + [3 + n % 20 for n in range(300)])
    assert program.found(RULE) == []


@pytest.mark.parametrize("given", [{"guidance": 10.0}, {"guidance": 0.0}, {"gauge": "distance, cm"}])
def test_cheap_guidance_none_or_no_queue_gives_no_finding(program, given):
    chunks(program, depths=[20 + n % 30 for n in range(300)], **given)
    assert program.found(RULE) == []


def test_guidance_in_the_loop_itself_is_at_stake_there(program):
    for tick in program.ticks(300, warmup=0):
        if tick % 10 == 0:
            with program.inside("policy_inference"):
                program.spend("denoise", 58)
                program.spend("guidance", 29)
        program.spend("send_action", 1)
        program.gauge("queue depth", 50 - tick % 10)
    (finding,) = program.found(RULE)
    assert finding.saving.share == pytest.approx(29 / 97)
    assert finding.severity == "warning"
