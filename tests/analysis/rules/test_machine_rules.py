"""The rules that rest on what the machine did: oversubscribed, contended, throttled."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from support.findings import findings
from support.steady_loops import MS, loop_of, sections, watched
from ticktree.analysis.rules.machine import VECTOR_WAIT, ContendedRule, OversubscribedRule, ThrottledRule
from ticktree.instruments import gymnasium as gymnasium_instrument
from ticktree.profile import Gauge, Histogram, Thread

LOOP = loop_of(20, sections({"act": lambda n: MS}))


def findings_of(rule, cores=2, **readings):
    return findings(watched(LOOP, cores, **readings), rules=[rule])


def test_two_threads_next_to_a_busy_process_on_two_cores_are_oversubscribed():
    (finding,) = findings_of(
        OversubscribedRule(), used=[1.33] * 9, others=[0.67] * 9, waiting=[0.33] * 9, steal=[0.0] * 9
    )
    assert finding.message == (
        "Use one thread fewer (OMP_NUM_THREADS=1, and OMP_WAIT_POLICY=PASSIVE): 2.0 busy threads share 2 "
        "cores, of which others use 0.7, and wait for one 33% of the time they could run"
    )
    assert (finding.kind, finding.severity) == (
        "measurement",
        "critical",
    )  # on an idle machine nothing would be wrong
    assert finding.facts["busy_threads"] == pytest.approx(1.985, abs=0.02)
    assert finding.facts["readings"] == 9
    assert findings_of(ContendedRule(), used=[1.33] * 9, others=[0.67] * 9, waiting=[0.33] * 9) == []


def test_a_run_with_more_threads_than_cores_is_oversubscribed_by_itself():
    (finding,) = findings_of(OversubscribedRule(), used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9)
    assert finding.kind == "recommendation"
    assert "others" not in finding.message


def test_cores_used_by_others_are_no_saving():
    """Three threads on two cores, most of which others use: with all cores they would wait a third of their time."""
    (finding,) = findings_of(
        OversubscribedRule(), used=[0.6] * 9, others=[1.4] * 9, waiting=[0.8] * 9, steal=[0.0] * 9
    )
    assert finding.kind == "recommendation"
    assert finding.saving.share == pytest.approx(1 / 3, abs=0.01)
    (alone,) = findings_of(OversubscribedRule(), used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9)
    assert alone.saving.share == pytest.approx(0.6, abs=0.01)


def test_what_the_environment_says_of_threads_is_in_the_sentence():
    profile = watched(LOOP, used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9)
    profile = replace(profile, metadata={**profile.metadata, "env.OMP_NUM_THREADS": frozenset({"8"})})
    (finding,) = findings(profile, rules=[OversubscribedRule()])
    assert "OMP_NUM_THREADS is 8 now" in finding.message


def test_the_advice_mentions_torchs_threads_if_torch_is_used():
    torch = {
        "torch/compiled": Gauge(
            name="torch/compiled", last=0, last_wall_ns=1, process="", count=1, min=0, max=0, zeros=1
        )
    }
    profile = watched(LOOP, used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9)
    for gauges, expected in ((torch, True), ({}, False)):
        (finding,) = findings(
            replace(profile, gauges={**profile.gauges, **gauges}), rules=[OversubscribedRule()]
        )
        assert ("torch.set_num_threads(1)" in finding.message) is expected


def with_one_thread_each(profile):
    return replace(profile, metadata={**profile.metadata, "env.OMP_NUM_THREADS": frozenset({"1"})})


def test_what_is_set_already_is_no_advice():
    profile = with_one_thread_each(watched(LOOP, used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9))
    (finding,) = findings(profile, rules=[OversubscribedRule()])
    assert "OMP_NUM_THREADS" not in finding.message
    assert finding.message == (
        "Start fewer threads; numerical libraries run one each already: 5.0 busy threads share 2 cores, "
        "and wait for one 60% of the time they could run"
    )
    assert (finding.saving, finding.severity) == (None, "critical")  # as much work is left for fewer of them
    enough = with_one_thread_each(watched(LOOP, used=[1.0] * 9, others=[1.0] * 9, waiting=[0.4] * 9))
    (finding,) = findings(enough, rules=[OversubscribedRule()])
    assert finding.kind == "measurement"
    assert finding.message.startswith(
        "Measure on an idle machine, or pin the run to cores of its own: 1.7 busy threads"
    )
    threads = {name: Thread(id=name) for name in ("1-1/0", "2-1/0", "3-1/0")}
    (finding,) = findings(replace(enough, threads=threads), rules=[OversubscribedRule()])
    assert finding.message.startswith("Measure on an idle machine")  # joblib starts one worker per core
    (finding,) = findings(replace(profile, threads=threads), rules=[OversubscribedRule()])
    assert finding.message == (
        "Start fewer worker processes than 3, each of which runs one thread already: 5.0 busy threads share "
        "2 cores, and wait for one 60% of the time they could run"
    )


def test_processes_with_less_than_a_thread_each_have_none_to_spare():
    profile = watched(LOOP, used=[0.9] * 9, others=[1.7] * 9, waiting=[0.5] * 9)
    threads = {name: Thread(id=name) for name in ("1-1/0", "2-1/0", "3-1/0")}
    (finding,) = findings(replace(profile, threads=threads), rules=[OversubscribedRule()])
    assert finding.message == (
        "Measure on an idle machine, or pin the run to cores of its own: 1.8 busy threads share 2 cores, of which "
        "others use 1.7, and wait for one 50% of the time they could run"
    )


def test_processes_that_each_use_many_threads_are_to_use_one():
    profile = watched(LOOP, used=[2.0] * 9, others=[0.0] * 9, waiting=[0.65] * 9)
    threads = {name: Thread(id=name) for name in ("1-1/0", "2-1/0", "3-1/0", "4-1/0", "5-1/0")}
    (finding,) = findings(replace(profile, threads=threads), rules=[OversubscribedRule()])
    assert finding.message == (
        "Let each of 5 processes run one thread (OMP_NUM_THREADS=1), or start fewer of them: 5.7 busy threads share "
        "2 cores, and wait for one 65% of the time they could run"
    )
    assert finding.saving is None


def steps_of_a_vector(recorder, _number):
    with recorder.section(VECTOR_WAIT, wait=True):
        recorder.advance(MS)


@pytest.mark.parametrize(("workers", "is_named"), [(2, False), (3, True)])
def test_how_many_workers_of_a_vector_of_envs_run_at_a_time_can_be_limited(workers, is_named):
    profile = watched(loop_of(20, steps_of_a_vector), used=[2.0] * 9, others=[0.0] * 9, waiting=[0.6] * 9)
    threads = {name: Thread(id=name) for name in (f"{number}-1/0" for number in range(workers + 1))}
    (finding,) = findings(replace(profile, threads=threads), rules=[OversubscribedRule()])
    limit = "Give AsyncVectorEnv max_concurrency=2 (gymnasium 1.4 and later), or "
    assert finding.message.startswith(limit) is is_named
    (other,) = findings(replace(profile, root=LOOP.root, threads=threads), rules=[OversubscribedRule()])
    assert "AsyncVectorEnv" not in other.message


def test_the_wait_that_is_looked_for_is_gymnasiums_and_it_has_the_argument():
    vectors = pytest.importorskip("gymnasium.vector")
    assert VECTOR_WAIT in gymnasium_instrument._ASYNC
    assert "max_concurrency" in inspect.signature(vectors.AsyncVectorEnv).parameters


@pytest.mark.parametrize(
    ("cores", "used", "others", "waiting"),
    [
        (2, 1.0, 0.0, 0.02),  # one thread on a machine of its own
        (2, 2.0, 0.0, 0.05),  # two threads for two cores
        (8, 2.0, 1.0, 0.15),  # they wait, and there are cores enough: pinned, or moved about
        (2, 0.7, 1.3, 0.3),  # one thread, whose core others take: that is contention
    ],
)
def test_a_run_with_a_core_for_each_thread_is_not_oversubscribed(cores, used, others, waiting):
    found_here = findings_of(
        OversubscribedRule(), cores, used=[used] * 9, others=[others] * 9, waiting=[waiting] * 9
    )
    assert found_here == []


@pytest.mark.parametrize(
    ("used", "waiting", "severity"),
    [
        (0.02, 0.6, "info"),
        (0.2, 0.6, "critical"),
        (0.8, 0.4, "critical"),
        (0.5, 1.0, "critical"),
    ],
)
def test_who_sleeps_most_of_the_time_has_little_to_gain_from_a_core_of_its_own(used, waiting, severity):
    (finding,) = findings_of(ContendedRule(), 4, used=[used] * 9, others=[1.9] * 9, waiting=[waiting] * 9)
    assert (finding.kind, finding.severity, finding.saving) == ("measurement", severity, None)


def test_without_readings_or_with_those_of_several_machines_there_is_no_finding():
    for rule in (OversubscribedRule(), ContendedRule(), ThrottledRule()):
        assert findings(LOOP, rules=[rule]) == []
        profile = watched(
            LOOP,
            host=("a", "b"),
            used=[2.0] * 9,
            others=[1.0] * 9,
            waiting=[0.6] * 9,
            steal=[0.5] * 9,
            throttled=[9.0] * 9,
        )
        assert findings(profile, rules=[rule]) == []


def test_one_thread_whose_cores_others_take_is_in_contention():
    (finding,) = findings_of(ContendedRule(), used=[0.7] * 9, others=[1.3] * 9, waiting=[0.3] * 9)
    assert finding.message.startswith(
        "in the worst quarter of its seconds, the run waits for a core for at least 30% of the time it could run, and "
        "other processes use 1.3 of 2 cores: "
    )
    assert finding.facts["cores_used_by_others"] == pytest.approx(1.3)


def test_a_quarter_of_the_seconds_is_enough():
    waiting, others = [0.0] * 6 + [0.4] * 3, [0.1] * 6 + [1.5] * 3
    assert len(findings_of(ContendedRule(), used=[0.9] * 9, others=others, waiting=waiting)) == 1
    waiting, others = [0.0] * 8 + [0.4], [0.1] * 8 + [1.5]
    assert findings_of(ContendedRule(), used=[0.9] * 9, others=others, waiting=waiting) == []


def test_a_run_that_waits_for_no_other_process_is_not_in_contention():
    assert findings_of(ContendedRule(), used=[1.0] * 9, others=[0.05] * 9, waiting=[0.3] * 9) == []
    assert findings_of(ContendedRule(), used=[1.0] * 9, others=[0.9] * 9, waiting=[0.01] * 9) == []


def test_time_that_the_hypervisor_takes_is_reported():
    (finding,) = findings_of(ContendedRule(), used=[1.0] * 9, others=[0.0] * 9, steal=[0.12] * 9)
    assert "the hypervisor gives at least 12% of this virtual machine's time to others" in finding.message
    assert findings_of(ContendedRule(), used=[1.0] * 9, others=[0.0] * 9, steal=[0.01] * 9) == []


def test_cores_that_became_slow_are_reported():
    (finding,) = findings_of(ThrottledRule(), frequency=[3400] * 12 + [2100] * 8, throttled=[0.0] * 20)
    assert finding.message == (
        "busy cores ran at 2,116 MHz instead of 3,400 MHz for 40% of the time: improve cooling, keep "
        "fewer cores busy, or fix a lower frequency"
    )
    assert finding.facts["lost_share"] == pytest.approx(0.4 * (1 - 2100 / 3400), abs=0.02)
    assert finding.facts["best_mhz"] == pytest.approx(3400, rel=0.02)


def test_slow_downs_for_heat_are_reported_whatever_the_frequency():
    (finding,) = findings_of(ThrottledRule(), throttled=[0.0] * 5 + [3.0] * 5)
    assert finding.message == (
        "the system slowed cores down for their heat 3.0 times per second: improve cooling, keep fewer "
        "cores busy, or fix a lower frequency"
    )
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "readings",
    [
        {"frequency": [3400] * 10 + [3100] * 10},
        {"frequency": [3400] * 18 + [2000] * 2},
        {"frequency": [3400] * 3 + [1200] * 3},
        {"throttled": [0.0] * 20},
    ],
)
def test_cores_that_kept_their_speed_are_not_reported(readings):
    assert findings_of(ThrottledRule(), **readings) == []


def gpu_slowed(slowed: int, of: int):
    profile = watched(LOOP)
    gauge = Gauge(
        name="machine/gpu1/slowed",
        last=0,
        last_wall_ns=0,
        process="a",
        count=of,
        min=0,
        max=1,
        positive=Histogram.of([1] * slowed),
        zeros=of - slowed,
    )
    return findings(replace(profile, gauges={gauge.name: gauge}), rules=[ThrottledRule()])


def test_a_gpu_that_was_slowed_down_in_a_fifth_of_the_readings_is_throttled():
    (finding,) = gpu_slowed(4, of=20)
    assert finding.message.startswith("GPU 1 was slowed down for its heat or its power limit 20% of the time")
    assert finding.facts == {"gpu": "1", "slowed_share": 0.2, "readings": 20}
    assert gpu_slowed(3, of=20) == []


def test_few_readings_of_a_gpu_give_no_finding():
    assert gpu_slowed(9, of=9) == []
