from __future__ import annotations

from dataclasses import replace

import pytest

import ticktree
from ticktree.analysis.budgets.check import check
from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import Plan, budget_of, plan_of
from ticktree.profile import Histogram, Jitter, Lateness, Memory, Profile

MS = 1_000_000


def told(results):
    return [(result.budget.measure.name, result.status) for result in results]


def test_a_number_within_its_limit_passes_and_one_beyond_it_fails(results):
    found = results("control/act/inference mean <= 11 ms", "control/act/inference mean <= 9 ms")
    assert [result.status for result in found] == ["pass", "fail"]
    assert found[0].measured == pytest.approx(10 * MS, rel=0.01)
    assert found[0].margin > 0 > found[1].margin


def test_both_ends_of_a_range_are_checked(results):
    ranges = ("8 to 12 ms", "11 to 12 ms", "8 to 9 ms")
    found = results(*(f"inference p50 = {text}" for text in ranges))
    assert [result.status for result in found] == ["pass", "fail", "fail"]


def test_deadlines_of_a_loop_can_be_budgeted(results):
    found = results(
        "control missed <= 20",
        "control missed <= 19",
        "control missed <= 10%",
        "control missed <= 9%",
        "control longest_miss_run <= 1",
        "control longest_miss_run <= 0",
        "control ticks >= 200",
        "control ticks >= 201",
        "control incomplete = 0",
        "control lateness_max >= 10 ms",
        "control jitter_mean >= 1 ms",
        "control hz >= 60",
        "control hz = 80",
    )
    statuses = [result.status for result in found]
    assert statuses[:8] == ["pass", "fail"] * 4
    assert statuses[8:] == ["pass", "pass", "pass", "pass", "fail"]


def test_percentiles_of_lateness_and_jitter_need_individual_values(run, results):
    late, apart = [11 * MS] * 15 + [13 * MS] * 5, [1 * MS] * 150 + [18 * MS] * 49
    each = (
        Lateness(len(late), sum(late), max(late), Histogram.of(late)),
        Jitter(len(apart), sum(apart), Histogram.of(apart)),
    )
    together = (Lateness(len(late), sum(late), max(late)), Jitter(len(apart), sum(apart)))
    limits = (
        "control lateness_p50 = 10 to 12 ms",
        "control lateness_p99 <= 12 ms",
        "control jitter_p99 = 17 to 20 ms",
        "control jitter_p50 <= 2 ms",
        "control lateness_max = 13 ms",
    )

    def statuses(lateness, jitter):
        profile = run()
        loop = replace(profile.loops["control"], lateness=lateness, jitter=jitter)
        return [
            result.status for result in results(*limits, profile=replace(profile, loops={"control": loop}))
        ]

    assert statuses(*each) == ["pass", "fail", "pass", "pass", "pass"]
    assert statuses(*together) == ["not measured"] * 4 + ["pass"]


def test_rates_are_computed_from_declared_work(results):
    found = results("inference rate >= 4 GB/s", "inference rate >= 6 GB/s", "inference rate = 300 items/s")
    assert [result.status for result in found] == ["pass", "fail", "pass"]
    assert found[0].measured == pytest.approx(5e9, rel=0.01)


def test_gauges_have_limits_on_their_readings(results):
    found = results(
        "queue depth min = 1",
        "queue depth max = 4",
        "queue depth p50 = 1 to 3",
        "queue depth zeros = 20%",
        "queue depth zeros = 39",
        "queue depth readings = 200",
        "queue depth last >= 4",
    )
    assert told(found) == [
        ("min", "fail"),
        ("max", "pass"),
        ("p50", "pass"),
        ("zeros", "pass"),
        ("zeros", "fail"),
        ("readings", "pass"),
        ("last", "pass"),
    ]


def test_a_share_is_of_the_nearest_loop_above(results):
    act, control = results("control/act share = 100%", "control share <= 100%")
    profile_share = act.measured
    assert 0.7 < profile_share < 0.8  # 11 of about 14.8 ms
    assert control.measured == pytest.approx(1)


def test_calls_and_unaccounted_time_have_limits(results):
    assert told(results("send calls >= 200", "send calls <= 199", "control unaccounted <= 10%")) == [
        ("calls", "pass"),
        ("calls", "fail"),
        ("unaccounted", "fail"),
    ]


def test_an_unmeasured_number_never_passes(results):
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("train", range(3)):
        recorder.advance(1000)
    with recorder.section("idle"):
        recorder.advance(1000)
    recorder.section("open").__enter__()
    profile = recorder.snapshot()
    recorder.disable()
    found = results(
        "train missed <= 5",
        "train longest_miss_run <= 5",
        "train lateness_max <= 1 s",
        "idle memory <= 1 TB",
        "idle device_memory <= 1 TB",
        "idle memory_growth <= 1 TB",
        "idle rate >= 0 items/s",
        "open mean <= 1 h",
        "train slower <= 50%",
        profile=profile,
    )
    assert {result.status for result in found} == {"not measured"}
    assert all(result.measured is None and result.note for result in found)


def test_sampled_memory_can_fail_its_budget_but_not_pass_it(run, results):
    def with_memory(is_exact):
        profile = run()
        control = profile.root.children["control"]
        act = replace(control.children["act"], memory=Memory(3, 0, 10**9, 10**6, is_exact))
        control = replace(control, children={**control.children, "act": act})
        return replace(profile, root=replace(profile.root, children={"control": control}))

    limits = (
        "act memory <= 2 GB",
        "act memory <= 0.5 GB",
        "act memory_growth <= 2 MB",
        "act memory >= 0.5 GB",
    )
    exact = results(*limits, profile=with_memory(is_exact=True))
    assert [result.status for result in exact] == ["pass", "fail", "pass", "pass"]
    rough = results(*limits, profile=with_memory(is_exact=False))
    assert [result.status for result in rough] == ["inconclusive", "fail", "inconclusive", "pass"]


def test_a_percentile_of_few_calls_has_a_note_that_it_is_the_longest(run, results):
    few, many = (results("inference p99 <= 1 s", profile=run(ticks=ticks))[0] for ticks in (20, 200))
    assert few.note == "the longest of 20"
    assert many.note == ""


def test_a_pattern_is_a_budget_for_each_matching_subject_with_the_measure(results):
    found = results("** missed <= 10%", "control/** max <= 1 s")
    assert [result.path for result in found] == [
        "control",
        "control",
        "control/act",
        "control/act/inference",
        "control/act/send",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("control/act missed <= 1", "for a loop, and 'control/act' is a section"),
        ("queue depth mean <= 1 ms", "for a section or a loop, and 'queue depth' is a gauge"),
        ("control p99 <= 25", "without a unit is for a gauge, and 'control' is a loop"),
        ("nowhere mean <= 1 ms", "nothing in this run is called 'nowhere'"),
    ],
)
def test_a_budget_without_a_subject_that_has_the_measure_is_refused(results, text, words):
    with pytest.raises(BudgetError) as caught:
        results(text)
    assert words in str(caught.value)
    assert text in str(caught.value)


def test_an_empty_profile_passes_no_budget(results):
    with pytest.raises(BudgetError, match="nothing in this run"):
        results("control mean <= 1 ms", profile=Profile.empty())


def test_the_calls_of_several_runs_count_together(run):
    plan = plan_of({"inference": {"calls": ">= 300"}, "control": {"missed": 35}}, "here")
    both = check([run(seed=1), run(seed=2)], plan)
    assert both.runs == 2
    assert [(result.measured, result.status) for result in both.results] == [(400, "pass"), (40, "fail")]


def test_the_dictionary_has_every_budget_with_its_numbers(run):
    plan = Plan((budget_of("control missed <= 5%"), budget_of("inference p50 = 1 to 20 ms")))
    document = check([run()], plan).to_dict()
    assert document["schema"] == "ticktree-check/1"
    assert {key: document[key] for key in ("fail", "not_measured", "inconclusive", "pass")} == {
        "fail": 1,
        "not_measured": 0,
        "inconclusive": 0,
        "pass": 1,
    }
    missed, p50 = document["budgets"]
    assert missed == {
        "path": "control",
        "kind": "loop",
        "measure": "missed",
        "unit": "share",
        "status": "fail",
        "measured": 0.1,
        "at_least": None,
        "at_most": 0.05,
        "margin_percent": -100.0,
        "note": "",
        "source": "--budget 'control missed <= 5%'",
    }
    assert (p50["at_least"], p50["at_most"], p50["unit"]) == (10**6, 20 * 10**6, "ns")
