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
def test_the_surprise_is_that_of_welchs_test(seed):
    rng = np.random.default_rng(seed)
    before, after = np.exp(rng.normal(0, 0.1, 7)), np.exp(rng.normal(0.1, 0.3, 11))
    expected = stats.ttest_ind(np.log(before), np.log(after), equal_var=False).pvalue
    assert welch.surprise(before, after) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_surprise_of_pairs_is_that_of_students_test(seed):
    rng = np.random.default_rng(seed)
    before, after = np.exp(rng.normal(0, 0.1, 9)), np.exp(rng.normal(0.1, 0.1, 9))
    expected = stats.ttest_rel(np.log(before), np.log(after)).pvalue
    assert welch.surprise_of_pairs(before, after) == pytest.approx(expected, rel=1e-6)


def test_one_value_is_no_surprise_and_equal_values_are_none_either():
    assert welch.surprise([1.0], [2.0]) == 1
    assert welch.surprise([1.0, 1.0], [1.0, 1.0]) == 1
    assert welch.surprise([1.0, 1.0], [2.0, 2.0]) < 1e-9
    assert welch.surprise_of_pairs([1.0], [2.0]) == 1
    assert welch.surprise_of_pairs([1.0, 2.0], [1.0, 2.0]) == 1


def test_holm_rejects_one_after_another_until_one_fails():
    assert welch.stand_out([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert welch.stand_out([0.02, 0.02, 0.02], 0.05) == [False, False, False]
    assert welch.stand_out([], 0.05) == []
