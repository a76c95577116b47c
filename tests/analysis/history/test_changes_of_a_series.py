"""Where a series of runs changed, beside ruptures and beside what is known to be there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ticktree.analysis.history.changes import (
    MIN_LEVEL_RUNS,
    MIN_RUNS,
    changes,
    confidence_set,
    cuts,
    noise_of,
    without_outliers,
)


def invented(seed: int, levels=(1.0, 1.2), length: int = 20, spread: float = 0.02) -> np.ndarray:
    noise = np.random.default_rng(seed)
    steps = np.repeat(np.asarray(levels, dtype=float), length)
    return 1e6 * steps * np.exp(noise.normal(0, spread, len(steps)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("penalty", [1.0, 4.0, 12.0])
def test_cuts_equal_those_of_pelt_in_ruptures(seed, penalty):
    ruptures = pytest.importorskip("ruptures")
    noise = np.random.default_rng(seed)
    values = np.concatenate(
        [noise.normal(level, 1, noise.integers(6, 30)) for level in noise.normal(0, 2, 5)]
    )
    found = cuts(values, penalty, MIN_LEVEL_RUNS)
    # Its PELT prunes what a shortest length may yet need, so the best of all partitions of each size is asked as well.
    theirs = ruptures.Pelt(model="l2", min_size=MIN_LEVEL_RUNS, jump=1).fit_predict(values, penalty)[:-1]
    ours_costs, theirs_costs = (_cost(values, each) + penalty * len(each) for each in (found, theirs))
    assert ours_costs <= theirs_costs + 1e-9
    if found:
        best = ruptures.Dynp(model="l2", min_size=MIN_LEVEL_RUNS, jump=1).fit_predict(values, len(found))[:-1]
        assert found == best
    if ours_costs == pytest.approx(theirs_costs, abs=1e-9):
        assert found == theirs


def _cost(values, cut_at) -> float:
    ends = [0, *cut_at, len(values)]
    return sum(
        float(((values[begin:end] - values[begin:end].mean()) ** 2).sum()) for begin, end in pairwise(ends)
    )


def test_cuts_have_the_minimum_cost_of_all_partitions():
    noise = np.random.default_rng(3)
    for _ in range(20):
        values = noise.normal(0, 1, 9) + np.repeat(noise.normal(0, 2, 3), 3)
        every = [[], *([at] for at in range(3, 7)), [3, 6]]
        best = min(every, key=lambda each: _cost(values, each) + 2.0 * len(each))
        assert cuts(values, 2.0, 3) == best


@pytest.mark.parametrize("seed", range(5))
def test_a_slowdown_is_found_at_its_position_with_the_true_shift_in_its_interval(seed):
    (change,) = changes(invented(seed))
    assert change.is_slower
    assert abs(change.at - 20) <= 1
    assert change.earliest <= 20 <= change.latest
    assert change.shift.low < 0.2 < change.shift.high
    assert change.shift.low > 0.15
    assert change.shift.high < 0.25


def test_a_speedup_is_found():
    (change,) = changes(invented(1, (1.0, 0.7)))
    assert not change.is_slower
    assert change.shift.estimate == pytest.approx(-0.3, abs=0.02)


def test_several_changes_are_found_separately():
    found = changes(invented(4, (1.0, 1.3, 1.0, 0.8)))
    assert [change.is_slower for change in found] == [True, False, False]
    assert [abs(change.at - 20 * number) <= 1 for number, change in enumerate(found, 1)] == [True] * 3


def test_an_unchanged_series_has_no_changes():
    assert [seed for seed in range(40) if changes(invented(seed, (1.0, 1.0)))] == []


def test_an_outlier_is_no_change_and_hides_none():
    values = invented(2)
    values[[5, 12, 33]] *= 10
    (change,) = changes(values)
    assert abs(change.at - 20) <= 1
    assert change.shift.estimate == pytest.approx(0.2, abs=0.03)


def test_two_slow_runs_at_the_end_become_a_change_with_the_third():
    values = invented(6, (1.0, 1.5))
    assert changes(values[:21]) == []
    assert [change.at for change in changes(values[:23])] == [20]


def test_a_burst_that_is_over_is_no_change():
    values = invented(7, (1.0, 1.0))
    values[18:20] *= 1.6
    assert changes(values) == []


def test_autocorrelated_runs_are_no_change():
    alarms = 0
    for seed in range(30):
        noise = np.random.default_rng(seed)
        logs = [0.0]
        for _ in range(59):
            logs.append(0.6 * logs[-1] + noise.normal(0, 0.024))
        alarms += len(changes(1e6 * np.exp(logs)))
    assert alarms <= 1


def test_a_step_is_found_in_autocorrelated_runs():
    drifting = [1.3, 1.2, 1.0, 0.9, 0.8, 0.65, 0.9, 0.75, 0.7, 1.0]
    (change,) = changes([*drifting, *(25 * value for value in drifting)])
    assert change.at == 10


def test_a_certain_shift_below_the_threshold_is_no_change():
    values = invented(8, (1.0, 1.03), spread=0.001)
    assert changes(values) == []
    assert [change.at for change in changes(values, threshold=0.02)] == [20]


def test_a_step_between_constant_values_is_a_change():
    (change,) = changes([1000.0] * 10 + [2000.0] * 10)
    assert change.at == 10
    assert (change.earliest, change.latest) == (10, 10)
    assert changes([1000.0] * 20) == []


def test_too_few_runs_have_no_changes():
    assert changes([1.0] * 4 + [9.0] * (MIN_RUNS - 5)) == []
    assert len(changes([1.0, 1.01, 0.99, 1.0, 9.0, 9.1, 9.0, 8.9])) == 1
    assert changes([]) == []


def test_the_unit_makes_no_difference():
    values = invented(9)
    assert [change.at for change in changes(values)] == [change.at for change in changes(values / 1e6)]


def test_noise_is_estimated_despite_changes_and_outliers():
    noise = np.random.default_rng(11)
    logs = noise.normal(0, 0.05, 400) + np.repeat([0.0, 2.0, 1.0, 3.0], 100)
    logs[::25] += 5
    found = noise_of(logs)
    assert found.spread == pytest.approx(0.05, rel=0.2)
    assert found.autocorrelation < 0.2


def test_autocorrelation_is_estimated_despite_changes():
    noise = np.random.default_rng(12)
    logs = np.zeros(2000)
    for at in range(1, 2000):
        logs[at] = 0.4 * logs[at - 1] + noise.normal(0, 0.05 * 0.84**0.5)
    logs += np.repeat([0.0, 2.0], 1000)
    found = noise_of(logs)
    assert found.autocorrelation == pytest.approx(0.4, abs=0.12)
    assert found.spread == pytest.approx(0.05, rel=0.2)


def test_outliers_are_pulled_back_and_a_step_is_unchanged():
    calm = without_outliers(np.array([0.0, 0, 0, 9, 0, 0, 0, 0, 5, 5, 5, 5]), 1.0)
    assert calm.tolist() == [0, 0, 0, 3, 0, 0, 0, 0, 5, 5, 5, 5]


def test_a_confidence_set_has_one_position_for_a_clear_step_and_many_for_a_weak_one():
    step = np.array([0.0] * 10 + [10.0] * 10)
    assert confidence_set(step, 10, 1.0) == (10, 10)
    noise = np.random.default_rng(5)
    hint = noise.normal(0, 1, 40) + np.repeat([0.0, 1.0], 20)
    first, last = confidence_set(hint, cuts(hint, 0.0, 20)[0], 1.0)
    assert first <= 20 <= last
    assert last - first > 3
