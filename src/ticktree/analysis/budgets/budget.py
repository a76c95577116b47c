"""Budget: one limit on one measure of whatever a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.budgets.bound import Bound
from ticktree.analysis.budgets.measure import Measure
from ticktree.analysis.budgets.registry import measures
from ticktree.analysis.budgets.unit import Unit, amount

_RANGE = " to "
# Of a comparison only one end can be asked: that it is faster is a verdict of its own.
_ONE_SIDED = "slower"


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit.

    Attributes:
        name: what it is about, as it was written: a path, a pattern, the end of a path, a gauge.
        measure: the number that has the limit.
        bound: the limit.
        unit: what it is in.
        source: where it stands, for messages.
    """

    name: str
    measure: Measure
    bound: Bound
    unit: Unit
    source: str


def budget(name: str, key: str, value: object, source: str) -> Budget:
    """Return the budget that is written as `name = {key = value}`.

    Args:
        name: What it is about.
        key: The measure.
        value: "25 ms", "<= 25 ms", ">= 29", "80 ms to 200 ms", 3.
        source: Where it stands.

    Raises:
        ValueError: There is no such measure, or the value is no limit on it.
    """
    reasons: list[str] = []
    for measure in measures(key):
        try:
            bound, unit = _bound(value, measure)
        except ValueError as error:
            reasons.append(str(error))
            continue
        if measure.name == _ONE_SIDED and bound.least is not None:
            raise ValueError(f'should be how much slower it may be, such as "5%", not {value!r:.60}')
        return Budget(name, measure, bound, unit, source)
    raise ValueError("; of a gauge, it ".join(reasons))


def _bound(value: object, measure: Measure) -> tuple[Bound, Unit]:
    text = value.strip() if isinstance(value, str) else ""
    if _RANGE in text:
        return _range(text, measure.units)
    sign = text[:2] if text[:2] in ("<=", ">=") else ""
    limit, unit = amount(text[2:].strip() if sign else value, measure.units)
    if not sign and measure.side == "said":
        raise ValueError(f'should say which end it is: "<= {value}" or ">= {value}"')
    is_least = sign == ">=" or (not sign and measure.side == "least")
    return Bound(least=limit) if is_least else Bound(most=limit), unit


def _range(text: str, units: Sequence[Unit]) -> tuple[Bound, Unit]:
    """Both ends; the first may leave its unit to the second, as in "80 to 200 ms"."""
    low, _, high = (part.strip() for part in text.partition(_RANGE))
    most, unit = amount(high, units)
    suffix = high.lstrip("+-.0123456789eE_")
    try:
        least, _ = amount(low, [unit])
    except ValueError:
        least, _ = amount(f"{low}{suffix}", [unit])
    if least > most:
        raise ValueError(f"ends before it begins: {text!r:.60}")
    return Bound(least, most), unit
