"""Looks: at which numbers of pairs one may stop early, and how sure one must be there.

Who looks after every pair and stops as soon as there is a verdict finds one in the end, whatever is true. So it is
settled beforehand when to look, and the error that is allowed is shared out among the looks in equal parts
(Bonferroni: a little stricter than Pocock, "Group sequential methods in the design and analysis of clinical trials",
1977, and exact for any number of looks).
"""

from __future__ import annotations

from ticktree.analysis.comparison.shift import CONFIDENCE

_MOST = 3


def looks(pairs: int) -> dict[int, float]:
    """The numbers of pairs at which to look, and the confidence that an interval needs there.

    Args:
        pairs: At most so many will be run.
    """
    least = _least_pairs(_MOST)
    if pairs < least:
        return {pairs: CONFIDENCE}
    numbers = sorted({max(least, pairs // 2), max(least, 3 * pairs // 4), pairs})
    return {number: 1 - (1 - CONFIDENCE) / len(numbers) for number in numbers}


def _least_pairs(number_of_looks: int) -> int:
    """So many pairs that all of them agreeing is certain enough: a chance of 2 in 2^n."""
    pairs = 1
    while 2.0 ** (1 - pairs) > (1 - CONFIDENCE) / number_of_looks:
        pairs += 1
    return pairs
