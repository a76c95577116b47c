from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import Bound, budget_of, plan_of

NUMBERS = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("key", "value", "least", "most", "unit"),
    [
        ("p99", "25 ms", None, 25e6, "ns"),
        ("p99", "<= 25 ms", None, 25e6, "ns"),
        ("mean", ">=25ms", 25e6, None, "ns"),
        ("p50", "80 ms to 200 ms", 80e6, 200e6, "ns"),
        ("p50", "80 to 200 ms", 80e6, 200e6, "ns"),
        ("p99.9", "1 s", None, 1e9, "ns"),
        ("min", "1 µs", 1e3, None, "ns"),
        ("min", 1, 1, None, "number"),
        ("max", -1.5, None, -1.5, "number"),
        ("p50", "2 to 4", 2, 4, "number"),
        ("missed", 3, None, 3, "count"),
        ("missed", "1%", None, 0.01, "share"),
        ("missed", 0.01, None, 0.01, "share"),
        ("hz", 29, 29, None, "Hz"),
        ("hz", "29 to 31 Hz", 29, 31, "Hz"),
        ("calls", ">= 10", 10, None, "count"),
        ("memory", "100 MB", None, 1e8, "bytes"),
        ("rate", "4 GB/s", 4e9, None, "bytes/s"),
        ("rate", ">= 2 GFLOP/s", 2e9, None, "FLOP/s"),
        ("rate", "5000 items/s", 5000, None, "items/s"),
        ("share", "5%", None, 0.05, "share"),
        ("slower", "5%", None, 0.05, "share"),
    ],
)
def test_a_limit_has_a_sign_or_the_side_of_its_measure(key, value, least, most, unit):
    (budget,) = plan_of({"control": {key: value}}, "here").budgets
    assert (budget.bound, budget.unit) == (Bound(least, most), unit)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("p9x", "25 ms", ["p9x", "did you mean"]),
        ("mised", 1, ["did you mean 'missed'"]),
        ("p99", "25", ["should be a time", "of a gauge, it should say which end"]),
        ("p99", "soon", ["should be a time", "of a gauge, it should be a number"]),
        ("mean", 25, ["should be a time", "25"]),
        ("mean", "25 parsecs", ["should be a time", "parsecs"]),
        ("mean", True, ["True"]),
        ("mean", None, ["None"]),
        ("missed", -1, ["a whole number or a share", "-1"]),
        ("calls", 10, ["which end"]),
        ("p50", "200 to 80 ms", ["ends before it begins"]),
        ("rate", "4 GB", ["4 GB/s"]),
        ("slower", ">= 5%", ["how much slower"]),
        ("hz", "inf", ["Hz"]),
    ],
)
def test_an_invalid_limit_is_refused_with_its_file_and_key(key, value, words):
    with pytest.raises(BudgetError) as caught:
        plan_of({"control": {key: value}}, "f.toml: [tool.ticktree.budgets]")
    text = str(caught.value)
    assert text.startswith("f.toml: [tool.ticktree.budgets] control.")
    assert "\n" not in text
    for word in [key, *words]:
        assert word in text


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_margin_is_negative_exactly_outside_the_bound(least, most, value):
    for bound in (Bound(least=least), Bound(most=most), Bound(min(least, most), max(least, most))):
        margin = bound.margin(value)
        if margin is not None and margin != 0:  # a tiny excess may round to no part of a large limit
            assert (margin > 0) is bound.holds(value)


def test_a_margin_is_a_fraction_of_the_nearer_end():
    assert Bound(most=20).margin(15) == pytest.approx(0.25)
    assert Bound(least=10).margin(15) == pytest.approx(0.5)
    assert Bound(10, 20).margin(15) == pytest.approx(0.25)
    assert Bound(10, 20).margin(25) == pytest.approx(-0.25)
    assert Bound(most=0).margin(0) is None


def test_a_budget_of_a_command_line_may_have_spaces_in_its_path():
    budget = budget_of("queue depth min >= 1")
    assert (budget.name, budget.measure.name, budget.bound) == ("queue depth", "min", Bound(least=1))
    budget = budget_of("control/act p50 = 80 ms to 200 ms")
    assert (budget.name, budget.bound) == ("control/act", Bound(80e6, 200e6))


@pytest.mark.parametrize("text", ["", "control", "control p99", "p99 <= 25 ms", "control p99 < 25 ms"])
def test_an_invalid_budget_on_a_command_line_is_refused(text):
    with pytest.raises(BudgetError, match="--budget"):
        budget_of(text)
