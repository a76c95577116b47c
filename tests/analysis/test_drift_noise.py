from __future__ import annotations

import random
from statistics import median

import pytest

from ticktree.analysis.drift import autocorrelation_time, ranks_of


def correlated(count: int, memory: float, seed: int) -> list[float]:
    """A series in which each value keeps the share `memory` of the one before: time (1 + memory) / (1 - memory)."""
    dice = random.Random(seed)
    values = [dice.gauss(0, 1)]
    while len(values) < count:
        values.append(memory * values[-1] + (1 - memory**2) ** 0.5 * dice.gauss(0, 1))
    return values


def test_equal_values_share_their_ranks():
    assert ranks_of([3.0, 1.0, 3.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]


def test_the_autocorrelation_time_is_one_of_what_is_independent_and_more_of_what_is_not():
    assert autocorrelation_time([1.0] * 9) == 1.0
    assert autocorrelation_time([1.0, -1.0] * 20) == 1.0
    assert autocorrelation_time([1.0] * 20 + [-1.0] * 20) > 5


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_autocorrelation_time_is_that_of_the_series(memory):
    found = median(autocorrelation_time(correlated(5000, memory, seed)) for seed in range(9))
    assert found == pytest.approx((1 + memory) / (1 - memory), rel=0.25)
