"""The registry: every measure that may have a limit, by the key it has in a configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ticktree.analysis.budgets import deadlines, durations, readings
from ticktree.analysis.budgets.errors import NotMeasuredError
from ticktree.analysis.budgets.measure import NODES, Measure
from ticktree.analysis.budgets.subject import Subject
from ticktree.analysis.budgets.unit import Unit
from ticktree.errors import did_you_mean

_QUANTILE = re.compile(r"(?P<of>(?:lateness|jitter)_)?p(?P<percent>\d{1,2}(?:\.\d+)?)")


def _no_baseline(_subject: Subject, _unit: Unit) -> float:
    raise NotMeasuredError("there is no baseline to compare with")


# By how much calls may be slower than the baseline's; the comparison says, not the run alone.
SLOWER = Measure("slower", NODES, ("share",), "most", _no_baseline)

MEASURES = (*durations.MEASURES, *deadlines.MEASURES, *readings.MEASURES, SLOWER)
NAMES = (
    *dict.fromkeys(measure.name for measure in MEASURES),
    "p50",
    "p90",
    "p99",
    "lateness_p99",
    "jitter_p99",
)


def measures(name: str) -> Sequence[Measure]:
    """The measures of a key: of a section, and of a gauge, whose readings have no unit.

    Raises:
        ValueError: There is none; says what may have been meant.
    """
    match = _QUANTILE.fullmatch(name)
    if match:
        q = float(match["percent"]) / 100
        spread = deadlines.quantiles(name, q)
        if spread is not None:
            return (spread,)
        return durations.quantile(name, q), readings.quantile(name, q)
    found = [measure for measure in MEASURES if measure.name == name]
    if not found:
        raise ValueError(f"there is no measure {name!r}{did_you_mean(name, NAMES)}")
    return found
