from __future__ import annotations

import random

import pytest

from ticktree.analysis.drift import sen_slope, trend

scipy_stats = pytest.importorskip("scipy.stats")


def noise(count: int, seed: int, size: float = 0.02) -> list[float]:
    dice = random.Random(seed)
    return [dice.gauss(0, size) for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_the_slope_is_theils_and_sens(seed):
    values = [0.01 * place + each for place, each in enumerate(noise(25, seed))]
    assert sen_slope(list(enumerate(values))) == pytest.approx(scipy_stats.theilslopes(values).slope)


@pytest.mark.parametrize("seed", range(20))
def test_without_autocorrelation_the_test_is_kendalls(seed):
    values = [0.002 * place + each for place, each in enumerate(noise(32, seed))]
    found = trend(values)
    exact = scipy_stats.kendalltau(range(32), values, method="asymptotic").pvalue
    # Continuity and autocorrelation are corrected for here, and both make it more careful.
    assert found.p_value >= exact


def test_a_clear_trend_is_clear_and_its_line_runs_through_the_middle():
    values = [1 + 0.01 * place + each for place, each in enumerate(noise(31, 2, 0.003))]
    found = trend(values)
    assert found.p_value < 1e-6
    assert found.is_significant
    assert found.slope == pytest.approx(0.01, abs=0.001)
    assert found.middle == pytest.approx(1.15, abs=0.01)


def test_a_fall_is_as_clear_as_a_rise():
    rise = [0.01 * place + each for place, each in enumerate(noise(31, 2, 0.003))]
    fall = [-each for each in rise]
    assert trend(fall).p_value == pytest.approx(trend(rise).p_value)
    assert trend(fall).slope == pytest.approx(-trend(rise).slope)


def test_a_trend_with_a_bend_is_a_trend_though_the_bend_looks_like_slow_noise():
    bent = trend([(1 + 0.02 * place) ** 0.5 for place in range(32)])
    assert bent.independent < 12
    assert bent.is_significant


def test_equal_values_have_no_trend():
    assert trend([2.0] * 20).p_value == 1.0
    assert not trend([2.0] * 20).is_significant


def test_a_slow_wave_of_noise_has_too_few_independent_values_to_tell():
    dice, level, values = random.Random(4), 0.0, []
    for _ in range(32):
        level = 0.97 * level + dice.gauss(0, 0.05)
        values.append(level)
    assert not trend(values).is_significant
