from __future__ import annotations

import pytest

from ticktree.analysis.budgets.check import check
from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import Plan, budget_of
from ticktree.errors import TicktreeError
from ticktree.profile import Profile


def statuses(checked):
    return {(result.kind, result.path): result.status for result in checked.results}


def test_a_section_slower_than_allowed_fails_and_the_others_pass(run):
    base, new = (
        [run(inference, seed) for seed in seeds] for inference, seeds in ((1, range(8)), (1.3, range(8, 16)))
    )
    checked = check(new, Plan(baseline="base"), base)
    assert checked.unit == "runs"
    assert statuses(checked) == {
        ("loop", "control"): "fail",
        ("node", "control/act"): "fail",
        ("node", "control/act/inference"): "fail",
        ("node", "control/act/send"): "pass",
    }
    failed = next(result for result in checked.results if result.path.endswith("inference"))
    assert failed.measured == pytest.approx(0.3, abs=0.02)
    assert 0.05 < failed.shift.low < 0.3 < failed.shift.high
    assert failed.margin is None
    document = failed.to_dict()
    assert document["low_percent"] < 30 < document["high_percent"]


def test_a_section_can_have_an_individual_limit(run):
    base, new = (
        [run(inference, seed) for seed in seeds] for inference, seeds in ((1, range(8)), (1.3, range(8, 16)))
    )
    plan = Plan((budget_of("inference slower = 50%"),), baseline="base", slower=0.4)
    checked = check(new, plan, base)
    assert set(statuses(checked).values()) == {"pass"}
    assert len(checked.results) == 4


def test_the_same_program_passes(run):
    checked = check([run(seed=2, ticks=2000)], Plan(slower=0.15), [run(seed=1, ticks=2000)])
    assert checked.unit == "blocks"
    assert set(statuses(checked).values()) == {"pass"}


def test_a_faster_program_passes(run):
    checked = check([run(0.5, seed=2, ticks=2000)], Plan(slower=0.15), [run(1, seed=1, ticks=2000)])
    assert set(statuses(checked).values()) == {"pass"}


def test_an_interval_around_the_limit_is_inconclusive(run):
    """Three runs a side can never tell anything."""
    base, new = ([run(seed=seed) for seed in seeds] for seeds in (range(3), range(3, 6)))
    checked = check(new, Plan(), base)
    assert set(statuses(checked).values()) == {"inconclusive"}
    assert {result.note for result in checked.results} == {"too few values for an interval"}


def test_a_section_of_one_side_is_counted_and_not_measured_if_budgeted(run):
    base, new = run(extra=["log"], ticks=2000), run(extra=["draw"], ticks=2000)
    checked = check([new], Plan(), [base])
    assert (checked.only_in_base, checked.only_in_new) == (1, 1)
    (result, *_) = check([new], Plan((budget_of("draw slower = 5%"),)), [base]).results
    assert (result.status, result.note) == ("not measured", "the baseline has no call of it after warm-up")


def test_a_baseline_of_nothing_is_an_error(run):
    with pytest.raises(TicktreeError, match="nothing was measured in base"):
        check([run()], Plan(), [Profile.empty()])


def test_a_limit_on_a_shift_from_nothing_is_refused(run):
    with pytest.raises(BudgetError, match="needs a baseline"):
        check([run()], Plan(slower=0.05))
