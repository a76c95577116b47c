"""Measures of how a loop held its rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ticktree.analysis.budgets.errors import NotMeasuredError
from ticktree.analysis.budgets.measure import LOOPS, Measure
from ticktree.analysis.budgets.subject import Subject
from ticktree.analysis.budgets.unit import Unit
from ticktree.profile import Jitter, Lateness, Loop

_NO_RATE = "no rate was asked for: loop(..., hz=...) does"


def _loop(subject: Subject) -> Loop:
    if subject.loop is None:
        raise NotMeasuredError("there is no such loop")
    return subject.loop


def _with_rate(subject: Subject) -> Loop:
    """The loop, where it could miss anything and did tick."""
    loop = _loop(subject)
    if not loop.hz:
        raise NotMeasuredError(_NO_RATE)
    if not loop.stats.count:
        raise NotMeasuredError("no tick ended after warm-up")
    return loop


def _missed(subject: Subject, unit: Unit) -> float:
    loop = _with_rate(subject)
    return loop.missed / loop.stats.count if unit == "share" else loop.missed


def _longest_miss_run(subject: Subject, _unit: Unit) -> float:
    return _with_rate(subject).longest_miss_run


def _ticks(subject: Subject, _unit: Unit) -> float:
    return _loop(subject).ticks


def _incomplete(subject: Subject, _unit: Unit) -> float:
    return _loop(subject).incomplete


def _hz(subject: Subject, _unit: Unit) -> float:
    hz = _loop(subject).achieved_hz
    if hz is None:
        raise NotMeasuredError("no tick ended")
    return hz


def _lateness(subject: Subject) -> Lateness:
    lateness = _with_rate(subject).lateness
    if lateness is None:
        raise NotMeasuredError("when its ticks should have ended is not known")
    return lateness


def _jitter(subject: Subject) -> Jitter:
    jitter = _loop(subject).jitter
    if jitter is None or not jitter.count:
        raise NotMeasuredError("no two ticks were neighbours")
    return jitter


def quantiles(name: str, q: float) -> Measure | None:
    """The percentile `q` of what a name such as "lateness_p99" is of; None where that is nothing here."""
    of = _SPREADS.get(name.partition("_")[0])
    if of is None:
        return None

    def take(subject: Subject, _unit: Unit) -> float:
        return _known(of(subject), lambda spread: spread.quantile_ns(q))

    return Measure(name, LOOPS, ("ns",), "most", take)


def _known(spread: Lateness | Jitter, of: Callable[[Any], int | None]) -> float:
    """A number of the ticks that were late, or that differed: 0 where none was, which is as measured as any other."""
    value = of(spread) if spread.count else 0
    if value is None:
        raise NotMeasuredError("only their sum is known, not each")
    return value


def _latest(subject: Subject, _unit: Unit) -> float:
    return _lateness(subject).max_ns


def _mean_lateness(subject: Subject, _unit: Unit) -> float:
    return _known(_lateness(subject), lambda lateness: lateness.mean_ns)


def _mean_jitter(subject: Subject, _unit: Unit) -> float:
    return _known(_jitter(subject), lambda jitter: jitter.mean_ns)


_SPREADS: Mapping[str, Callable[[Subject], Lateness | Jitter]] = {"lateness": _lateness, "jitter": _jitter}

MEASURES = (
    Measure("missed", LOOPS, ("count", "share"), "most", _missed),
    Measure("longest_miss_run", LOOPS, ("count",), "most", _longest_miss_run),
    Measure("hz", LOOPS, ("Hz",), "least", _hz),
    Measure("ticks", LOOPS, ("count",), "least", _ticks),
    Measure("incomplete", LOOPS, ("count",), "most", _incomplete),
    Measure("lateness_mean", LOOPS, ("ns",), "most", _mean_lateness),
    Measure("lateness_max", LOOPS, ("ns",), "most", _latest),
    Measure("jitter_mean", LOOPS, ("ns",), "most", _mean_jitter),
)
