from __future__ import annotations

import random

import pytest

from ticktree.analysis.drift import (
    CRITICAL,
    MAX_VALUES,
    MIN_VALUES,
    _statistic,
    is_significant,
    most_different_segment,
    subtract_levels,
)


def noise(count: int, seed: int = 3, size: float = 0.01) -> list[float]:
    dice = random.Random(seed)
    return [dice.gauss(0, size) for _ in range(count)]


def test_a_step_that_lasts_is_found_at_its_position():
    values = [each + (0.2 if place >= 20 else 0) for place, each in enumerate(noise(30))]
    step = most_different_segment(values)
    assert (step.first, step.end) == (20, 30)
    assert is_significant(values, step)


def test_the_later_part_is_the_one_that_changed():
    values = [each + (0.2 if place < 8 else 0) for place, each in enumerate(noise(30))]
    step = most_different_segment(values)
    assert (step.first, step.end) == (8, 30)


def test_a_level_in_the_middle_is_found_with_its_end():
    values = [each + (0.2 if 10 <= place < 20 else 0) for place, each in enumerate(noise(30))]
    step = most_different_segment(values)
    assert (step.first, step.end) == (10, 20)
    assert is_significant(values, step)


def test_a_burst_is_no_level():
    values = [each + (1.0 if 10 <= place < 13 else 0) for place, each in enumerate(noise(30))]
    assert not is_significant(values, most_different_segment(values))


@pytest.mark.parametrize("seed", range(20))
def test_noise_has_no_steps(seed):
    values = noise(32, seed)
    assert not is_significant(values, most_different_segment(values))


def test_a_slow_wave_is_no_step():
    dice, level, values = random.Random(5), 0.0, []
    for _ in range(32):
        level = 0.95 * level + dice.gauss(0, 0.03)
        values.append(level)
    assert not is_significant(values, most_different_segment(values))


def test_equal_values_have_no_steps():
    assert not is_significant([1.0] * 20, most_different_segment([1.0] * 20))


def test_the_critical_values_are_exceeded_by_half_a_percent_of_all_orders():
    dice = random.Random(11)
    for count in (MIN_VALUES, 24, MAX_VALUES):
        values = [float(place) for place in range(count)]
        exceeded = 0
        for _ in range(600):
            dice.shuffle(values)
            exceeded += _statistic(values) > CRITICAL[count]
        assert exceeded <= 10  # 3 are expected; more than 10 happen once in 3,000 times


def test_there_is_a_critical_value_for_each_number_of_values():
    assert sorted(CRITICAL) == list(range(MIN_VALUES, MAX_VALUES + 1))


def test_without_its_step_a_series_has_one_level():
    values = [1.0] * 20 + [5.0] * 10
    assert subtract_levels(values, most_different_segment(values)) == [0.0] * 30
