"""The shift and its interval, beside scipy's rank tests and by what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.analysis.comparison import shift

stats = pytest.importorskip("scipy.stats")

durations = st.floats(1.0, 1e9)
samples = st.lists(durations, min_size=1, max_size=12)


@given(samples, samples)
def test_the_estimate_is_the_median_of_all_ratios(base, new):
    ratios = [math.log(b / a) for a in base for b in new]
    assert shift.between(base, new).estimate == pytest.approx(
        math.expm1(np.median(ratios)), rel=1e-6, abs=1e-9
    )


@given(samples, samples)
def test_exchanging_the_sides_inverts_the_ratio_and_its_interval(base, new):
    there, back = shift.between(base, new), shift.between(new, base)
    assert 1 + there.estimate == pytest.approx(1 / (1 + back.estimate), rel=1e-6)
    if math.isfinite(there.high):
        assert 1 + there.high == pytest.approx(1 / (1 + back.low), rel=1e-6)


@pytest.mark.parametrize(("base", "new"), [(4, 4), (5, 9), (12, 12), (20, 31)])
def test_the_interval_leaves_out_zero_exactly_where_the_rank_test_rejects(base, new):
    rng = np.random.default_rng(base * 100 + new)
    for _ in range(100):
        before = np.exp(rng.normal(0, 0.1, base))
        after = np.exp(rng.normal(rng.uniform(-0.2, 0.2), 0.1, new))
        found = shift.between(before, after)
        rejects = stats.mannwhitneyu(before, after, method="exact").pvalue <= 0.05
        assert (found.low > 0 or found.high < 0) == rejects


@pytest.mark.parametrize("pairs", [6, 9, 15, 30])
def test_the_interval_of_pairs_leaves_out_zero_exactly_where_wilcoxons_test_rejects(pairs):
    rng = np.random.default_rng(pairs)
    for _ in range(100):
        before = np.exp(rng.normal(0, 0.5, pairs))
        after = before * np.exp(rng.normal(rng.uniform(-0.1, 0.1), 0.1, pairs))
        found = shift.within_pairs(before, after)
        rejects = stats.wilcoxon(np.log(after / before), method="exact").pvalue <= 0.05
        assert (found.low > 0 or found.high < 0) == rejects


def test_the_normal_approximation_agrees_with_exact_counting():
    rng = np.random.default_rng(1)
    before, after = np.exp(rng.normal(0, 0.1, 60)), np.exp(rng.normal(0.03, 0.1, 60))
    assert (shift.between(before, after).low > 0) == (stats.mannwhitneyu(before, after).pvalue < 0.05)


def test_samples_too_small_for_any_certainty_have_no_interval():
    found = shift.between([1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    assert (found.low, found.high) == (-1.0, math.inf)
    assert shift.within_pairs([1.0] * 5, [2.0] * 5).high == math.inf


def test_the_interval_contains_the_true_shift_as_often_as_its_confidence():
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        found = shift.between(np.exp(rng.normal(0, 0.1, 8)), 1.05 * np.exp(rng.normal(0, 0.1, 8)))
        held += found.low <= 0.05 <= found.high
    assert held >= 935  # 950 are expected; fewer than 935 would be chance in one of seventy


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [float("nan")]])
def test_samples_that_are_not_positive_are_refused(bad):
    with pytest.raises(ValueError, match="positive"):
        shift.between(bad, [1.0])


def test_pairs_of_unlike_length_are_refused():
    with pytest.raises(ValueError, match="paired"):
        shift.within_pairs([1.0], [1.0, 2.0])
