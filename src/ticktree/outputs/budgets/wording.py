"""Limits, and what became of them, in words that are safe to show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ticktree.analysis.budgets import STATUSES, Checked, Result, Unit
from ticktree.outputs.comparison.parts import signed
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible

_FORMATS: Mapping[Unit, Callable[[float], str]] = {
    "ns": formatting.time,
    "share": formatting.share,
    "count": lambda value: formatting.count(int(value)),
    "Hz": formatting.hertz,
    "bytes": formatting.size,
    "bytes/s": lambda value: formatting.scaled(value, "B/s"),
    "FLOP/s": lambda value: formatting.scaled(value, "FLOP/s"),
    "items/s": lambda value: f"{formatting.reading(value)} items/s",
    "number": formatting.reading,
}


def verdict(checked: Checked) -> str:
    """Return what became of all of them, such as "2 of 14 budgets broken, 1 not measured"."""
    total = len(checked.results)
    told = [(status, len(checked.of(status))) for status in STATUSES if status != "held"]
    bad = [f"{number} {formatting.verdict(status)}" for status, number in told if number]
    noun = "budget" if total == 1 else "budgets"
    if not bad:
        return f"{'the' if total == 1 else f'all {total}'} {noun} held"
    first, *rest = bad
    number, _, status = first.partition(" ")
    return ", ".join([f"{number} of {total} {noun} {status}", *rest])


def line(result: Result) -> str:
    """Return what became of one, such as "control p99: 31.2 ms, budget <= 25.0 ms"."""
    if result.measured is None:
        return f"{name(result)}: {result.note}"
    note = f" ({result.note})" if result.note else ""
    interval = f", {between(result)}" if result.shift else ""
    return f"{name(result)}: {measured(result)}{interval}, budget {limit(result)}{note}"


def name(result: Result) -> str:
    """Return what it is a limit on."""
    return f"{visible(result.path)} {result.budget.measure.name}"


def measured(result: Result) -> str:
    """Return the number; "-" where there is none."""
    if result.measured is None:
        return formatting.ABSENT
    if result.shift is not None:
        return signed(result.measured)
    return _FORMATS[result.budget.unit](result.measured)


def limit(result: Result) -> str:
    """Return the limit: "<= 25.0 ms", ">= 29.0 Hz", "80.0 to 200 ms"."""
    bound, text = result.budget.bound, _FORMATS[result.budget.unit]
    if bound.least is None:
        return f"<= {text(bound.most or 0)}"
    if bound.most is None:
        return f">= {text(bound.least)}"
    (low, _, low_unit), (high, _, high_unit) = (
        text(bound.least).partition(" "),
        text(bound.most).partition(" "),
    )
    alike = low_unit == high_unit
    return f"{low} to {high} {high_unit}".rstrip() if alike else f"{text(bound.least)} to {text(bound.most)}"


def margin(result: Result) -> str:
    """Return how far within the limit it is, as a part of the limit; "" where that says nothing."""
    return "" if result.margin is None else signed(result.margin)


def between(result: Result) -> str:
    """Return the interval of a shift; "" where there is none."""
    shift = result.shift
    if shift is None or not math.isfinite(shift.high):
        return ""
    return f"{signed(shift.low)} to {signed(shift.high)}"
