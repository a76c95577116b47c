"""Noise: how much values in a row differ where nothing changed, told from the values themselves, changes and all.

Every number here rests on differences, of neighbours and of those next to them: a change touches one of the former and
two of the latter, an outlier twice as many, and what sticks out is left out. That the two kinds of differences tell
how much of a value the next one remembers, whatever changes there are, is from Chakar, Lebarbier, Levy-Leduc and
Robin, "A robust approach for estimating change-points in the mean of an AR(1) process" (Bernoulli 23(2), 2017). They
take medians of squares, which of twenty runs are as good as chance; here it is the mean of what does not stick out.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ticktree.analysis.drift.noise import DEVIATIONS

Values: TypeAlias = npt.NDArray[np.float64]

# Of fewer values a memory cannot be told from chance.
_FEWEST = 8
# More would take every change for the noise's own wandering.
_MOST_MEMORY = 0.6
# Below this no clock and no program repeats itself; it keeps divisions by nothing away.
_LEAST_SPREAD = 1e-6
# An outlier is further from the median of its neighbours than this many spreads (Hampel, "The influence curve and its
# role in robust estimation", 1974).
_OUTLYING = 3.0
# Of what is normal, 1 in 80 is further out.
_STICKING_OUT = 2.5
# Neighbours on each side: three in a row out of seven or fewer may be a change, two are outliers.
_NEIGHBOURS = 2


class Noise(NamedTuple):
    """What is known of it.

    Attributes:
        spread: the standard deviation of a value, were it normal.
        memory: what a value keeps of the one before, as a part of 1.
    """

    spread: float
    memory: float

    @property
    def repetition(self) -> float:
        """How many values in a row tell no more of their mean than one independent value would."""
        return (1 + self.memory) / (1 - self.memory)


def noise_of(values: Values) -> Noise:
    """Return the noise in values in the order of time, at least two."""
    step, memory = _spread(np.diff(values)), 0.0
    if len(values) >= _FEWEST and step > 0:
        wider = _spread(values[2:] - values[:-2])
        memory = min(max((wider / step) ** 2 - 1, 0.0), _MOST_MEMORY)
    return Noise(max(step / math.sqrt(2 * (1 - memory)), _LEAST_SPREAD), memory)


def _spread(differences: Values) -> float:
    """The standard deviation of differences around 0, of those that do not stick out."""
    sizes = np.abs(differences)
    usual = DEVIATIONS * float(np.median(sizes))
    inside = sizes[sizes <= _STICKING_OUT * usual]
    return float(np.sqrt(np.mean(inside**2)))


def without_outliers(values: Values, spread: float) -> Values:
    """Return the values, each that is far from all its neighbours pulled back to where it may be.

    Where there are as many neighbours on one level as on another, as at the last of the values, either level is near.
    """
    reach = _OUTLYING * spread
    pulled: Values = values.copy()
    for at, value in enumerate(values):
        middle = _middle(values[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1], float(value))
        pulled[at] = min(max(value, middle - reach), middle + reach)
    return pulled


def _middle(around: Values, value: float) -> float:
    """The median; of an even number whatever lies between the two in the middle, as near to `value` as that is."""
    ordered = np.sort(around)
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return min(max(value, low), high)
