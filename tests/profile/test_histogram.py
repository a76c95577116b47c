from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profile_strategies import histograms, quantile_by_sorting
from ticktree.profile import Histogram
from ticktree.profile.histogram import bucket_of, middle_of

durations = st.integers(0, 2**62) | st.integers(0, 5000)


def bucket_by_powers(value: Fraction) -> int:
    """floor(32 * log2(value)) in whole numbers: the largest i with 2**i <= value**32."""
    power = value**32
    guess = power.numerator.bit_length() - power.denominator.bit_length()
    while Fraction(2) ** guess > power:
        guess -= 1
    while Fraction(2) ** (guess + 1) <= power:
        guess += 1
    return guess


@given(st.integers(1, 2**57))
def test_an_int_falls_into_the_bucket_the_formula_says(value):
    assert bucket_of(value) == bucket_by_powers(Fraction(value))


@given(st.floats(1e-300, 1e300))
def test_a_float_falls_into_the_bucket_the_formula_says(value):
    assert bucket_of(value) == bucket_by_powers(Fraction(value))


def test_every_bucket_begins_at_the_first_whole_number_that_belongs_there():
    for bucket in range(6 * 32, 57 * 32):  # below 64 there are more buckets than whole numbers
        first = 1 << bucket
        for _ in range(5):  # the 32nd root
            first = math.isqrt(first)
        first += first**32 < 1 << bucket
        assert bucket_of(first) == bucket
        assert bucket_of(first - 1) == bucket - 1


@given(st.integers(1, 2**53))
def test_a_whole_number_falls_into_the_same_bucket_as_int_and_as_float(value):
    assert bucket_of(value) == bucket_of(float(value))


def test_no_time_at_all_is_counted_with_one_nanosecond():
    assert bucket_of(0) == bucket_of(1) == 0


@pytest.mark.parametrize("value", [-1, -0.5, math.nan, math.inf])
def test_what_is_no_size_has_no_bucket(value):
    with pytest.raises(ValueError):
        bucket_of(value)


@given(st.floats(1e-300, 1e300))
def test_the_middle_of_a_bucket_is_within_a_little_over_one_percent_of_its_values(value):
    assert abs(middle_of(bucket_of(value)) / value - 1) <= 0.011


@given(st.lists(durations, min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_a_little_over_one_percent(values, q):
    exact = quantile_by_sorting(values, q)
    quantile = Histogram.of(values).quantile(q, min(values), max(values))
    assert quantile is not None
    assert abs(quantile - exact) <= max(0.011 * exact, 1.02)  # 0 and 1 ns share a bucket
    assert min(values) <= quantile <= max(values)


def test_quantiles_of_one_value_are_that_value():
    assert Histogram.of([1234567]).quantile(0.5, 1234567, 1234567) == 1234567


def test_the_least_and_the_greatest_quantile_are_exact():
    values = [3_000_001, 5_000_003, 9_000_007]
    histogram = Histogram.of(values)
    assert histogram.quantile(0.0, values[0], values[-1]) == values[0]
    assert histogram.quantile(0.99, values[0], values[-1]) == values[-1]


def test_ranks_are_those_of_the_decimal_not_of_its_binary_neighbour():
    values = [1] * 7 + [1000] * 93
    assert Histogram.of(values).quantile(0.07, 0, 1000) == pytest.approx(1, rel=0.02)


def test_an_empty_histogram_has_no_quantile():
    assert Histogram().quantile(0.5, 0, 1) is None


@given(histograms, histograms, histograms)
def test_histograms_merge_in_any_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Histogram() == a


@given(st.lists(durations), st.lists(durations))
def test_the_merged_histogram_is_that_of_all_values(left, right):
    assert Histogram.of(left) + Histogram.of(right) == Histogram.of(left + right)


def test_empty_buckets_make_no_difference():
    assert Histogram({3: 0, 4: 1}) == Histogram({4: 1})
