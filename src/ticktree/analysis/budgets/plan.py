"""Plan: the budgets of a project, each a limit on one measure, as its configuration or a command line has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticktree.analysis.budgets.measures import BudgetMeasure, measures
from ticktree.analysis.budgets.subjects import BudgetError
from ticktree.analysis.quantities import Unit, amount, part
from ticktree.errors import did_you_mean


@dataclass(frozen=True, slots=True)
class Bound:
    """What a number is allowed to be. Both ends belong to it.

    Attributes:
        least: what it may be at the least; None where there is no such end.
        most: what it may be at the most; None where there is no such end.
    """

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether `value` lies within."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def margin(self, value: float) -> float | None:
        """How far within its nearer end a value lies, as a part of that end; negative where it lies outside.

        None where that end is 0: nothing is a part of nothing.
        """
        ends = ((self.most, -1), (self.least, 1))
        margins = [sign * (value - end) / abs(end) if end else None for end, sign in ends if end is not None]
        known = [margin for margin in margins if margin is not None]
        return min(known) if len(known) == len(margins) else None


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
    measure: BudgetMeasure
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


def _bound(value: object, measure: BudgetMeasure) -> tuple[Bound, Unit]:
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


# Twice what two builds of the same code differ by is a slowdown that a change made.
SLOWER = 0.05

_OPTIONS = ("baseline", "slower", "allow_different")
_WRITTEN = re.compile(
    r"(?P<name>.*\S)\s+(?P<key>[^\s<>=]+)\s*(?P<sign><=|>=|=)\s*(?P<value>[^<>=]+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to check.

    Attributes:
        budgets: every limit.
        baseline: the file or run to be no slower than, as written; "" for none.
        slower: by how much anything may be slower than it, as a part of 1; None where that was not said.
        allow_different: whether a baseline of another machine or other libraries will do.
    """

    budgets: tuple[Budget, ...] = ()
    baseline: str = ""
    slower: float | None = None
    allow_different: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to check."""
        return not (self.budgets or self.baseline) and self.slower is None


def plan_of(table: Mapping[str, Any], source: str) -> Plan:
    """Return the plan that a table of the configuration holds.

    Args:
        table: Names with a table of limits each; and, not being tables, the options of the baseline.
        source: Where it stands, for messages.

    Raises:
        BudgetError: Something in it is no budget.
    """
    budgets: list[Budget] = []
    options: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            budgets.extend(_budgets(name, value, f"{source} {_quoted(name)}"))
        elif name in _OPTIONS:
            options[name] = _option(name, value, f"{source} {name}")
        else:
            wanted = 'should be a table of limits such as {p99 = "25 ms"}'
            raise BudgetError(f"{source} {_quoted(name)}: {wanted}{did_you_mean(name, _OPTIONS)}")
    return Plan(tuple(budgets), **options)


def budget_of(text: str) -> Budget:
    """Return the budget written as "control/act p99 <= 25 ms".

    Raises:
        BudgetError: It is none.
    """
    source = f"--budget {text!r:.80}"
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise BudgetError(
            f'{source}: should be a path, a measure and a limit, as in "control/act p99 <= 25 ms"'
        )
    sign = "" if match["sign"] == "=" else match["sign"]
    return _checked(match["name"], match["key"], f"{sign}{match['value'].strip()}", source)


def slower_of(value: object, source: str) -> float:
    """Return a part such as "5%".

    Raises:
        BudgetError: It is none.
    """
    try:
        return part(value)
    except ValueError as error:
        raise BudgetError(f"{source}: {error}") from None


def _budgets(name: str, limits: Mapping[str, Any], source: str) -> Iterator[Budget]:
    if not limits:
        raise BudgetError(f"{source}: has no limit")
    for key, value in limits.items():
        for one in value if isinstance(value, list) else [value]:
            yield _checked(name, key, one, f"{source}.{_quoted(key)}")


def _checked(name: str, key: str, value: object, source: str) -> Budget:
    try:
        return budget(name, key, value, source)
    except ValueError as error:
        raise BudgetError(f"{source}: {error}") from None


def _option(name: str, value: object, source: str) -> object:
    if name == "slower":
        return slower_of(value, source)
    if name == "baseline" and (not isinstance(value, str) or not value):
        raise BudgetError(f"{source}: should be the name of a file")
    if name == "allow_different" and not isinstance(value, bool):
        raise BudgetError(f"{source}: should be true or false")
    return value


def _quoted(key: str) -> str:
    """A key as TOML would have it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
