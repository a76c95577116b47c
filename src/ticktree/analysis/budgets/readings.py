"""Measures of a gauge's readings."""

from __future__ import annotations

from collections.abc import Callable

from ticktree.analysis.budgets.errors import NotMeasuredError
from ticktree.analysis.budgets.measure import GAUGES, Measure, Side
from ticktree.analysis.budgets.subject import Subject
from ticktree.analysis.budgets.unit import Unit
from ticktree.profile import Gauge


def quantile(name: str, q: float) -> Measure:
    """The percentile `q` of a gauge's readings."""
    return _reading(name, "said", lambda gauge: gauge.quantile(q), q)


def _gauge(subject: Subject) -> Gauge:
    if subject.gauge is None:
        raise NotMeasuredError("there is no such gauge")
    return subject.gauge


def _reading(name: str, side: Side, of: Callable[[Gauge], float | None], q: float | None = None) -> Measure:
    def take(subject: Subject, _unit: Unit) -> float:
        value = of(_gauge(subject))
        if value is None:
            raise NotMeasuredError("no reading is filed")
        return value

    return Measure(name, GAUGES, ("number",), side, take, q)


def _zeros(subject: Subject, unit: Unit) -> float:
    gauge = _gauge(subject)
    return gauge.zeros / gauge.count if unit == "share" else gauge.zeros


def _readings(subject: Subject, _unit: Unit) -> float:
    return _gauge(subject).count


MEASURES = (
    _reading("min", "least", lambda gauge: gauge.min),
    _reading("max", "most", lambda gauge: gauge.max),
    _reading("last", "said", lambda gauge: gauge.last),
    Measure("zeros", GAUGES, ("count", "share"), "most", _zeros),
    Measure("readings", GAUGES, ("count",), "least", _readings),
)
