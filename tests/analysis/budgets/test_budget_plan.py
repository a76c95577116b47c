from __future__ import annotations

import pytest

from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import plan_of


def test_options_of_the_baseline_are_next_to_the_budgets():
    table = {"baseline": "base.json", "slower": "3%", "allow_different": True, "control": {"missed": 0}}
    plan = plan_of(table, "here")
    assert (plan.baseline, plan.slower, plan.allow_different) == ("base.json", 0.03, True)
    assert [budget.name for budget in plan.budgets] == ["control"]


def test_a_section_can_have_the_name_of_an_option():
    plan = plan_of({"baseline": {"mean": "1 ms"}}, "here")
    assert plan.baseline == ""
    assert [budget.name for budget in plan.budgets] == ["baseline"]


def test_one_measure_may_have_several_limits():
    plan = plan_of({"sample": {"rate": ["4 GB/s", "100 items/s"]}}, "here")
    assert [budget.unit for budget in plan.budgets] == ["bytes/s", "items/s"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"control/act": "25 ms"}, ['"control/act"', "table of limits"]),
        ({"basline": "b.json"}, ["basline", "did you mean 'baseline'"]),
        ({"baseline": 3}, ["baseline", "name of a file"]),
        ({"slower": "quick"}, ["slower", "quick"]),
        ({"allow_different": "yes"}, ["allow_different", "true or false"]),
        ({"control": {}}, ["control", "has no limit"]),
        ({"control": {"act": {"p99": "25 ms"}}}, ["control.act", "no measure 'act'"]),
    ],
)
def test_an_invalid_plan_is_refused_in_one_line(table, words):
    with pytest.raises(BudgetError) as caught:
        plan_of(table, "f.toml: [tool.ticktree.budgets]")
    assert str(caught.value).startswith("f.toml: [tool.ticktree.budgets] ")
    for word in words:
        assert word in str(caught.value)
