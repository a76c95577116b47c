"""Partition: where a series of values is cut into stretches of one level each, at the least cost.

The cost of a cut series is the squared distance of every value from its stretch's mean, and a penalty for each cut.
The best of all partitions is found exactly, by dynamic programming over where the last stretch begins: the recursion
of Jackson et al., "An algorithm for optimal partitioning of data on an interval" (IEEE Signal Processing Letters
12(2), 2005), which PELT prunes without changing its result (Killick, Fearnhead and Eckley, "Optimal detection of
changepoints with a linear computational cost", JASA 107, 2012). A history has hundreds of runs: one step looks at all
beginnings at once, in an array, and there is nothing that pruning would save.
"""

from __future__ import annotations

import numpy as np

from ticktree.analysis.history.noise import Values


def cuts(values: Values, penalty: float, shortest: int) -> list[int]:
    """Return where stretches begin but the first, in order.

    Args:
        values: in the order of time.
        penalty: of each cut; in the units of the values, squared.
        shortest: how many values a stretch has at least.
    """
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    least = np.full(count + 1, np.inf)  # of the values before each place
    least[0] = -penalty  # the first stretch is no cut
    begins = np.zeros(count + 1, dtype=np.intp)  # of the last stretch before each place
    for end in range(shortest, count + 1):
        begin = np.arange(end - shortest + 1)
        distance = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        total = least[begin] + distance + penalty
        begins[end] = int(np.argmin(total))
        least[end] = total[begins[end]]
    found = []
    at = int(begins[count])
    while at > 0:
        found.append(at)
        at = int(begins[at])
    return found[::-1]


def may_begin(values: Values, at: int, spread: float) -> tuple[int, int]:
    """Return the first and the last place at which the one change in `values` may as well have been.

    The likelihood-ratio confidence set of Siegmund ("Confidence sets in change-point problems", International
    Statistical Review 56, 1988), as the whole stretch from its first to its last place.

    Args:
        values: around the change: the stretch before it and the one after.
        at: where it most likely was, within them.
        spread: the standard deviation of a value.
    """
    places = np.arange(1, len(values))
    sums = np.cumsum(values)
    before = sums[:-1]
    fit = before**2 / places + (sums[-1] - before) ** 2 / (len(values) - places)
    likely = places[fit >= fit[at - 1] - _OFF * spread**2]
    return int(likely.min()), int(likely.max())


# In 95% of series the true place is off by no more: (1 - exp(-x / 2))^2 = 0.95.
_OFF = 7.35
