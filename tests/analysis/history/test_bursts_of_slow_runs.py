"""Runs that were slow for a while are no change, however slow; what lasts longer is one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ticktree.analysis.history.changes import (
    MAX_LEVEL_RUNS,
    MIN_LEVEL_RUNS,
    MIN_RUNS,
    SHORTEST_AFTER_BURST,
    changes,
)


def steady(seed: int, length: int = 40, spread: float = 0.02) -> np.ndarray:
    return 1e6 * np.exp(np.random.default_rng(seed).normal(0, spread, length))


def runs_until_found(values: np.ndarray, at: int) -> int:
    """How many runs of the new level it takes."""
    looks = range(at + 1, len(values) + 1)
    return next(count - at for count in looks if any(each.at == at for each in changes(values[:count])))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("burst", "needed"),
    [
        (0, MIN_LEVEL_RUNS),
        (1, SHORTEST_AFTER_BURST),
        (2, SHORTEST_AFTER_BURST),
        (3, SHORTEST_AFTER_BURST),
        (4, 5),
        (5, MAX_LEVEL_RUNS),
    ],
)
def test_a_level_is_accepted_once_it_lasts_longer_than_earlier_bursts(seed, burst, needed):
    values = steady(seed)
    values[15 : 15 + burst] *= 1.4
    values[30:] *= 1.4
    assert runs_until_found(values, 30) == needed


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_slow_bursts_do_not_delay_the_detection_of_a_speedup(seed):
    values = steady(seed)
    values[15:17] *= 1.4
    values[30:] *= 0.6
    assert runs_until_found(values, 30) == MIN_LEVEL_RUNS


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("length", range(1, MAX_LEVEL_RUNS))
def test_a_burst_that_ended_is_no_change_at_any_position(seed, length):
    for begin in (4, 12, 40 - MIN_RUNS):
        values = steady(seed)
        values[begin : begin + length] *= 1.5
        assert changes(values) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_long_slowdown_that_ended_is_two_changes(seed):
    values = steady(seed)
    values[15 : 15 + MAX_LEVEL_RUNS] *= 1.4
    assert [(each.at, each.is_slower) for each in changes(values)] == [
        (15, True),
        (15 + MAX_LEVEL_RUNS, False),
    ]


@pytest.mark.parametrize("burst", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_end_of_a_burst_is_no_change(seed, burst):
    values = steady(seed)
    values[10:12] *= 1.3
    values[25 : 25 + burst] *= 1.3
    assert [count for count in range(MIN_RUNS, 41) if changes(values[:count])] == []


@pytest.mark.parametrize("seed", range(4))
def test_a_change_next_to_a_burst_is_found_with_its_lasting_shift(seed):
    values = steady(seed, 60)
    values[30:] *= 1.15
    values[30:33] *= 1.5
    (change,) = changes(values)
    assert abs(change.at - 30) <= 3
    assert change.shift.estimate == pytest.approx(0.15, abs=0.03)


@pytest.mark.slow
def test_an_occasionally_busy_machine_causes_few_false_alarms():
    noise, alarms = np.random.default_rng(20261122), 0
    for _ in range(8):
        values = np.exp(noise.normal(0, 0.03, 150))
        for begin in np.flatnonzero(noise.random(150) < 1 / 50):  # a burst every fifty runs, of one to three
            values[begin : begin + noise.integers(1, 4)] *= noise.uniform(1.1, 1.5)
        alarms += len({at for count in range(MIN_RUNS, 151) for at in slowdowns(values[:count])})
    assert alarms <= 1200 * 5 / 1000


def slowdowns(values: np.ndarray) -> list[int]:
    return [change.at for change in changes(values) if change.is_slower]


def test_a_burst_at_the_end_does_not_hide_an_earlier_change():
    values = steady(3, 45)
    values[25:] *= 1.12
    values[10:12] *= 1.5
    before = [change.at for change in changes(values[:41])]
    values[41:] *= 1.4
    assert before == [25]
    assert [change.at for change in changes(values[:44])] == before


seeds = some.integers(0, 2**32 - 1)
lengths = some.integers(0, 60)
levels = some.lists(some.sampled_from([0.7, 1.0, 1.03, 1.1, 1.5]), min_size=1, max_size=4)


def invented(seed: int, length: int, steps: list[float]) -> np.ndarray:
    """Levels, noise, and a burst of what length comes."""
    noise = np.random.default_rng(seed)
    values = np.repeat(steps, length // len(steps) + 1)[:length] * np.exp(noise.normal(0, 0.03, length))
    begin = noise.integers(0, max(1, length))
    values[begin : begin + noise.integers(0, 9)] *= 1.3
    return values


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seeds, lengths, levels, some.floats(1e-6, 1e9))
def test_the_unit_of_the_values_makes_no_difference(seed, length, steps, unit):
    values = invented(seed, length, steps)
    assert [each.at for each in changes(unit * values)] == [each.at for each in changes(values)]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(some.floats(1e-9, 1e18), some.integers(0, 80))
def test_a_series_of_one_value_has_no_change(value, length):
    assert changes([value] * length) == []


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seeds, lengths, levels)
def test_every_change_matters_is_certain_and_leaves_stretches_that_are_long_enough(seed, length, steps):
    values = invented(seed, length, steps)
    found = changes(values)
    ends = [0, *(change.at for change in found), length]
    assert all(end - begin >= MIN_LEVEL_RUNS for begin, end in pairwise(ends) if found)
    for change in found:
        assert change.earliest <= change.at <= change.latest
        assert abs(change.shift.estimate) >= 0.05
        assert change.shift.low > 0 or change.shift.high < 0
        assert change.is_slower == (change.after > change.before)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seeds, lengths, levels)
def test_a_stricter_threshold_finds_no_change_in_what_has_none_that_large(seed, length, steps):
    values = invented(seed, length, steps)
    assert all(abs(change.shift.estimate) >= 0.2 for change in changes(values, threshold=0.2))


@settings(deadline=None, max_examples=30, derandomize=True)
@given(seeds, some.integers(MIN_RUNS, 40))
def test_changes_leaves_its_input_unchanged_and_is_repeatable(seed, length):
    values = invented(seed, length, [1.0, 1.5])
    copy = values.copy()
    assert changes(values) == changes(values.tolist())
    assert (values == copy).all()
