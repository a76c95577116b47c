"""Bursts: runs in a row that were all slow and then no longer were, because somebody else was on the machine.

Three runs of a burst look as three runs after a slowdown do: no test of values that are independent can tell them
apart, however strict. What tells them apart is how long they last. So a level is believed once it has held for longer
than any burst that this series has had: were bursts as long as chance makes them, the next would be longer than all
n before it with a probability of 1 / (n + 1) at most, whatever their distribution (Gumbel and von Schelling, "The
distribution of the number of exceedances", Annals of Mathematical Statistics 21(2), 1950). And a level that was left
again for the one before it is a burst, unless it held for long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ticktree.analysis.history.noise import Values

# Two runs in a row that are slow may both have met somebody else on the machine.
SHORTEST = 3
# The fewest, once a series had a burst.
WARY = 4
# Nobody waits for more: so many runs at another level are a change.
LONGEST = 6

# A run of a burst is further from its level than this many spreads, as an outlier is.
_OUTLYING = 3.0


class Passing(NamedTuple):
    """A stretch that is not believed to be of a level of its own.

    Attributes:
        begin: where it begins.
        end: where it ends.
        low: the lower of the levels around it.
        high: the higher.
    """

    begin: int
    end: int
    low: float
    high: float


def passing(values: Values, calm: Values, cuts: Sequence[int], spread: float) -> Passing | None:
    """Return the first stretch that is a burst, or may yet turn out to be one; None where there is none.

    Args:
        values: in the order of time.
        calm: the same, with outliers and bursts that are known pulled back.
        cuts: where stretches begin but the first, in order.
        spread: the standard deviation of a value.
    """
    ends = [0, *cuts, len(values)]
    levels = [float(calm[begin:end].mean()) for begin, end in pairwise(ends)]
    for number, at in enumerate(cuts, 1):
        end, before, level = ends[number + 1], levels[number - 1], levels[number]
        is_newest = end == len(values)
        after = before if is_newest else levels[number + 1]
        if is_newest:
            away = np.concatenate([values[ends[n] : ends[n + 1]] - levels[n] for n in range(number)])
            needed = _needed(away if level > before else -away, spread)
        else:
            was_left = abs(after - before) < abs(level - before) / 2
            needed = LONGEST if was_left else SHORTEST
        stretch = values[at:end]
        on_it = np.abs(stretch - level) < np.abs(stretch - before)
        if np.count_nonzero(on_it) < needed:
            return Passing(at, end, min(before, after), max(before, after))
    return None


def _needed(away: Values, spread: float) -> int:
    """Return how many runs a level must hold, where runs before it were so far beyond the levels of their own."""
    longest = _longest(away > _OUTLYING * spread)
    return min(max(WARY, longest + 1), LONGEST) if longest else SHORTEST


def _longest(is_out: npt.NDArray[np.bool_]) -> int:
    """Return how many in a row are out at most, without those at the very end: they are not yet over."""
    lengths = [(out, len(list(each))) for out, each in groupby(is_out.tolist())]
    if lengths and lengths[-1][0]:
        lengths.pop()
    return max((length for out, length in lengths if out), default=0)
