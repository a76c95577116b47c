"""What a history says of runs: in which series they are, what changed with which commit, and what is a regression."""

from __future__ import annotations

import random

import pytest

from support.history_series import LAPTOP, SERVER, days, run
from ticktree.analysis.history.history import group_series, history
from ticktree.errors import TicktreeError

A, B, C = ("a" * 40, "b" * 40, "c" * 40)


def noisy(*levels: float, each: int = 10) -> list[float]:
    noise = random.Random(1)
    return [1e6 * level * noise.uniform(0.99, 1.01) for level in levels for _ in range(each)]


def test_a_slowdown_has_its_commit_and_the_previous_one():
    found = history(days(noisy(1, 1.3), [A] * 10 + [B] * 10))
    ((entry,),) = [found.series]
    (trend,) = entry.trends
    (point,) = trend.change_points
    assert trend.verdict == "slower"
    assert trend.is_loop
    assert (point.last.commit, point.run.commit) == (A, B)
    assert point.suspects == [B]
    assert point.change.shift.estimate == pytest.approx(0.3, abs=0.02)
    assert [(series.program, trend.path) for series, trend in found.regressions] == [("train.py", "train")]


def test_a_new_laptop_is_no_regression():
    slow = [run(20 + at, {"train": ns}, **SERVER) for at, ns in enumerate(noisy(5, each=10))]
    found = history([*days(noisy(1, each=10)), *slow])
    assert [len(entry.series.runs) for entry in found.series] == [10, 10]
    assert [dict(entry.series.machine) for entry in found.series] == [SERVER, LAPTOP]
    assert [entry.series.is_current for entry in found.series] == [True, False]
    assert found.regressions == []


def test_a_regression_of_a_replaced_machine_is_not_current():
    old = days(noisy(1, 2), **SERVER)
    new = [run(30 + at, {"train": ns}) for at, ns in enumerate(noisy(1, each=10))]
    found = history([*old, *new])
    assert found.series[1].trends[0].verdict == "slower"
    assert found.regressions == []


def test_other_arguments_are_another_series_unless_any_are_allowed():
    runs = [*days(noisy(1), command="train.py --seed 1"), *days(noisy(1), command="train.py --seed 2")]
    runs += days(noisy(1), command="-m train --seed 2")
    programs = {one.program for one in group_series(runs)}
    assert programs == {"train.py --seed 1", "train.py --seed 2", "-m train --seed 2"}
    together = group_series(runs, any_arguments=True)
    assert sorted((one.program, len(one.runs)) for one in together) == [("-m train", 10), ("train.py", 20)]


def test_runs_are_in_the_order_of_their_start():
    runs = days(noisy(1, 1.4))
    random.Random(2).shuffle(runs)
    (entry,) = history(runs).series
    assert [each.id for each in entry.series.runs] == [f"run-{at}" for at in range(20)]


def test_an_undone_slowdown_is_no_regression_and_a_halved_one_is():
    undone = history(days(noisy(1, 1.4, 1)))
    assert [point.stands for point in undone.series[0].trends[0].change_points] == [False, True]
    assert undone.series[0].trends[0].verdict == "faster"
    assert undone.regressions == []
    halved = history(days(noisy(1, 1.4, 1.2)))
    assert [point.stands for point in halved.series[0].trends[0].change_points] == [True, True]
    assert halved.series[0].trends[0].verdict == "slower"
    assert len(halved.regressions) == 1


def test_a_commit_that_was_accepted_is_no_regression():
    runs = days(noisy(1, 1.3), [A] * 10 + [B] * 10)
    assert history(runs, accepted=["bbbbbbb"]).regressions == []
    assert len(history(runs, accepted=["aaaaaaa"]).regressions) == 1


def test_other_differences_are_listed_if_the_commit_is_unchanged():
    runs = days(noisy(1), [A] * 10, **{"version.torch": "2.12.0"})
    runs += [
        run(10 + at, {"train": ns}, A, **{"version.torch": "2.13.0"}) for at, ns in enumerate(noisy(1.5))
    ]
    (point,) = history(runs).series[0].trends[0].change_points
    assert point.suspects == []
    assert [(fact.key, fact.base, fact.new) for fact in point.differences] == [
        ("version.torch", "2.12.0", "2.13.0")
    ]


def test_all_commits_in_the_confidence_set_are_suspects():
    noise = random.Random(4)
    values = [1e6 * level * noise.uniform(0.85, 1.15) for level in (1, 1.25) for _ in range(25)]
    commits = [f"{at:040x}" for at in range(50)]
    (point,) = history(days(values, commits)).series[0].trends[0].change_points
    assert commits[25] in point.suspects
    assert len(point.suspects) > 1
    assert point.suspects[0] == point.run.commit


def test_runs_without_a_section_leave_no_gap_in_its_trend():
    runs = [run(at, {"train": 1e6} if at % 2 else {"train": 1e6, "save": 2e6}) for at in range(20)]
    (trend,) = history(runs, nodes=["save"]).series[0].trends
    assert len(trend.values) == 10
    assert not trend.is_loop


def test_a_name_with_a_slash_needs_no_escape_if_it_is_unambiguous():
    runs = [run(at, {"train": 1e6, r"api\/step": 2e6}) for at in range(10)]
    (trend,) = history(runs, nodes=["api/step"]).series[0].trends
    assert trend.path == r"api\/step"
    both = [run(at, {"train": 1e6, r"api\/step": 2e6, "api/step": 3e6}) for at in range(10)]
    (trend,) = history(both, nodes=["api/step"]).series[0].trends
    assert trend.path == "api/step"
    several = [run(at, {r"a\/b/c": 1e6, r"a/b\/c": 2e6}) for at in range(10)]
    with pytest.raises(TicktreeError, match="a/b/c stands for several sections; say which: "):
        history(several, nodes=["a/b/c"])


def test_an_unknown_section_is_an_error_that_suggests_a_similar_one():
    with pytest.raises(TicktreeError, match="no run has a section tarin; did you mean train"):
        history(days(noisy(1)), nodes=["tarin"])


def test_too_few_runs_and_inconclusive_are_different_verdicts():
    assert history(days([1e6] * 5)).series[0].trends[0].verdict == "too few runs"
    assert history(days(noisy(1))).series[0].trends[0].verdict == "no change"
    wild = random.Random(3)
    values = [1e6 * wild.uniform(0.6, 1.4) for _ in range(12)]
    assert history(days(values)).series[0].trends[0].verdict == "inconclusive"


def test_other_statistics_than_the_mean_can_be_requested():
    runs = days(noisy(1, each=20))
    assert history(runs, statistic="max").series[0].trends[0].values[0] == pytest.approx(2e6, rel=0.02)


def test_small_sections_are_included_only_on_request():
    from dataclasses import replace

    from support.history_series import measure

    runs = [
        replace(one, measures={**one.measures, "train/log": measure(1e3, share=0.001)})
        for one in days(noisy(1))
    ]
    assert [trend.path for trend in history(runs).series[0].trends] == ["train"]
    assert len(history(runs, everything=True).series[0].trends) == 2
    assert [trend.path for trend in history(runs, nodes=["train/log"]).series[0].trends] == ["train/log"]


def test_last_limits_each_series_to_its_newest_runs():
    (entry,) = history(days(noisy(1, 1.4, each=20)), last=15).series
    assert entry.series.runs[0].id == "run-25"
    assert entry.trends[0].change_points == []


def test_the_json_has_all_values_stretches_and_changes():
    document = history(days(noisy(1, 1.3), [A] * 10 + [C] * 10)).to_dict()
    assert document["schema"] == "ticktree-history/1"
    ((trend,),) = [series["trends"] for series in document["series"]]
    assert len(trend["values"]) == 20
    assert [stretch["first"] for stretch in trend["stretches"]] == ["run-0", "run-10"]
    (change,) = trend["changes"]
    assert (change["commit"], change["previous_commit"], change["verdict"]) == (C, A, "slower")
    assert change["low_percent"] < change["shift_percent"] < change["high_percent"]
