"""The tests behind the guard against many comparisons, beside scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.analysis.comparison import welch

stats = pytest.importorskip("scipy.stats")


@given(st.floats(-60, 60), st.floats(1, 300))
def test_the_tails_are_students(t, freedom):
    assert welch.student_tails(t, freedom) == pytest.approx(
        2 * stats.t.sf(abs(t), freedom), rel=1e-6, abs=1e-15
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_p_value_is_that_of_welchs_test(seed):
    rng = np.random.default_rng(seed)
    before, after = np.exp(rng.normal(0, 0.1, 7)), np.exp(rng.normal(0.1, 0.3, 11))
    expected = stats.ttest_ind(np.log(before), np.log(after), equal_var=False).pvalue
    assert welch.contrast(before, after).p_value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_p_value_of_pairs_is_that_of_students_test(seed):
    rng = np.random.default_rng(seed)
    before, after = np.exp(rng.normal(0, 0.1, 9)), np.exp(rng.normal(0.1, 0.1, 9))
    expected = stats.ttest_rel(np.log(before), np.log(after)).pvalue
    assert welch.contrast_of_pairs(before, after).p_value == pytest.approx(expected, rel=1e-6)


def test_one_value_has_no_p_value_and_equal_values_do_not_differ():
    assert welch.contrast([1.0], [2.0]).p_value == 1
    assert welch.contrast([1.0, 1.0], [1.0, 1.0]).p_value == 1
    assert welch.contrast([1.0, 1.0], [2.0, 2.0]).p_value < 1e-9
    assert welch.contrast_of_pairs([1.0], [2.0]).p_value == 1
    assert welch.contrast_of_pairs([1.0, 2.0], [1.0, 2.0]).p_value == 1


@given(st.floats(1, 100), st.floats(0.5, 0.999))
def test_an_interval_reaches_as_far_as_students(freedom, confidence):
    reach = welch.Contrast(0.1, 0.5, freedom).reach(confidence)
    assert reach == pytest.approx(0.5 * stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-6)


def test_two_single_runs_may_differ_as_much_as_their_blocks():
    rng = np.random.default_rng(3)
    before, after = np.exp(rng.normal(0, 0.1, 12)), np.exp(rng.normal(0.12, 0.1, 12))
    assert welch.contrast(before, after).p_value < 0.05 < welch.contrast_of_runs(before, after).p_value
    quiet = [1.0] * 12, [1.05] * 12
    assert welch.contrast(*quiet).p_value < 1e-9
    assert welch.contrast_of_runs(*quiet).p_value > 0.2  # another start may be 5% slower


def test_holm_rejects_one_after_another_until_one_fails():
    assert welch.holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert welch.holm([0.02, 0.02, 0.02], 0.05) == [False, False, False]
    assert welch.holm([], 0.05) == []
