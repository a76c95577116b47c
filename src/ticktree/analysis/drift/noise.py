"""Noise: what is known of values in the order of time once a trend or a step is taken out of them."""

from __future__ import annotations

from collections.abc import Sequence

# The standard deviation of what is normal, by its median deviation.
DEVIATIONS = 1.4826


def ranks_of(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for place in order[at : end + 1]:
            ranks[place] = (at + end) / 2 + 1
        at = end + 1
    return ranks


def autocorrelation_time(values: Sequence[float]) -> float:
    """Return how many values in a row tell no more than one would; 1 where they are independent.

    The integrated autocorrelation time, by Geyer's initial positive sequence ("Practical Markov chain Monte Carlo",
    Statistical Science 7(4), 1992).

    Args:
        values: in the order of time, without the trend or the step that is asked about.
    """
    around = centred(values)
    variance = correlation(around, 0)
    if variance <= 0:
        return 1.0
    time = -1.0
    for lag in range(0, len(around) - 1, 2):
        pair = sum(correlation(around, each) for each in (lag, lag + 1)) / variance
        if pair <= 0:  # from here on there is noise only
            break
        time += 2 * pair
    return max(1.0, time)


def centred(values: Sequence[float]) -> list[float]:
    """Return the values less their mean."""
    middle = sum(values) / len(values)
    return [value - middle for value in values]


def correlation(around: Sequence[float], lag: int) -> float:
    """Return the sum of the products of values around 0 that are `lag` apart; of none, their squares."""
    return sum(a * b for a, b in zip(around, around[lag:], strict=False))
