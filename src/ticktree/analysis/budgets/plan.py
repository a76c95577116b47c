"""Plan: the budgets of a project, each a limit on one measure, from its configuration or a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ticktree.analysis.budgets.measures import SLOWER_MEASURE, BudgetError, BudgetMeasure, measures
from ticktree.analysis.quantities import Unit, amount, fraction
from ticktree.errors import did_you_mean


@dataclass(frozen=True, slots=True)
class Bound:
    """The allowed range of a number, both ends included.

    Attributes:
        least: the minimum; None if there is none.
        most: the maximum; None if there is none.
    """

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether `value` lies within the range."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def margin(self, value: float) -> float | None:
        """Return the distance of a value from the nearer end, as a fraction of that end; negative outside the range.

        None if an end is 0.
        """
        ends = ((self.most, -1), (self.least, 1))
        margins = [sign * (value - end) / abs(end) if end else None for end, sign in ends if end is not None]
        finite = [margin for margin in margins if margin is not None]
        return min(finite) if len(finite) == len(margins) else None


_RANGE = " to "


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit.

    Attributes:
        name: the subject as configured: a path, a pattern, the end of a path, or a gauge.
        measure: the measure that has the limit.
        bound: the limit.
        unit: the unit of the limit.
        source: where it is configured, for messages.
    """

    name: str
    measure: BudgetMeasure
    bound: Bound
    unit: Unit
    source: str


def _parse_bound(value: object, measure: BudgetMeasure) -> tuple[Bound, Unit]:
    text = value.strip() if isinstance(value, str) else ""
    if _RANGE in text:
        return _parse_range(text, measure.units)
    sign = text[:2] if text[:2] in ("<=", ">=") else ""
    limit, unit = amount(text[2:].strip() if sign else value, measure.units)
    if not sign and measure.side == "explicit":
        raise ValueError(f'should say which end it is: "<= {value}" or ">= {value}"')
    is_minimum = sign == ">=" or (not sign and measure.side == "least")
    return Bound(least=limit) if is_minimum else Bound(most=limit), unit


def _parse_range(text: str, units: Sequence[Unit]) -> tuple[Bound, Unit]:
    """Return the bound with both ends; the first may omit its unit, as in "80 to 200 ms"."""
    low, _, high = (end.strip() for end in text.partition(_RANGE))
    most, unit = amount(high, units)
    suffix = high.lstrip("+-.0123456789eE_")
    try:
        least, _ = amount(low, [unit])
    except ValueError:
        least, _ = amount(f"{low}{suffix}", [unit])
    if least > most:
        raise ValueError(f"ends before it begins: {text!r:.60}")
    return Bound(least, most), unit


# Twice the difference between two builds of the same code: a larger slowdown is caused by the change.
SLOWER = 0.05

_OPTIONS = ("baseline", "slower", "allow_different")
_BUDGET_TEXT = re.compile(
    r"(?P<name>.*\S)\s+(?P<key>[^\s<>=]+)\s*(?P<sign><=|>=|=)\s*(?P<value>[^<>=]+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The budgets to check, and the baseline.

    Attributes:
        budgets: the limits.
        baseline: the file or run to compare with, as configured; "" for none.
        slower: by how much any section may be slower than the baseline, as a fraction; None if not configured.
        allow_different: whether to accept a baseline of another machine or with other libraries.
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
    """Return the plan in a table of the configuration: one table of limits per name, and options of the baseline.

    Raises:
        BudgetError: An entry is not a valid budget or option.
    """
    budgets: list[Budget] = []
    options: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            budgets.extend(_parse_limits(name, value, f"{source} {_toml_key(name)}"))
        elif name in _OPTIONS:
            options[name] = _parse_option(name, value, f"{source} {name}")
        else:
            expected = 'should be a table of limits such as {p99 = "25 ms"}'
            raise BudgetError(f"{source} {_toml_key(name)}: {expected}{did_you_mean(name, _OPTIONS)}")
    return Plan(tuple(budgets), **options)


def budget_of(text: str) -> Budget:
    """Return the budget of a text such as "control/act p99 <= 25 ms".

    Raises:
        BudgetError: The text is not a budget.
    """
    source = f"--budget {text!r:.80}"
    match = _BUDGET_TEXT.fullmatch(text.strip())
    if match is None:
        raise BudgetError(
            f'{source}: should be a path, a measure and a limit, as in "control/act p99 <= 25 ms"'
        )
    sign = "" if match["sign"] == "=" else match["sign"]
    return _parse_budget(match["name"], match["key"], f"{sign}{match['value'].strip()}", source)


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Raise a ValueError of the block as a BudgetError that names the source."""
    try:
        yield
    except ValueError as error:
        raise BudgetError(f"{source}: {error}") from None


def slower_of(value: object, source: str) -> float:
    """Return the fraction that a value such as "5%" states.

    Raises:
        BudgetError: The value is not a fraction.
    """
    with naming(source):
        return fraction(value)


def _parse_limits(name: str, limits: Mapping[str, Any], source: str) -> Iterator[Budget]:
    if not limits:
        raise BudgetError(f"{source}: has no limit")
    for key, value in limits.items():
        for limit in value if isinstance(value, list) else [value]:
            yield _parse_budget(name, key, limit, f"{source}.{_toml_key(key)}")


def _parse_budget(name: str, key: str, value: object, source: str) -> Budget:
    """Return the budget `name = {key = value}`; a value is "25 ms", "<= 25 ms", ">= 29", "80 ms to 200 ms" or 3."""
    reasons: list[str] = []
    with naming(source):
        for measure in measures(key):
            try:
                bound, unit = _parse_bound(value, measure)
            except ValueError as error:
                reasons.append(str(error))
                continue
            if measure is SLOWER_MEASURE and bound.least is not None:
                raise ValueError(f'should be how much slower it may be, such as "5%", not {value!r:.60}')
            return Budget(name, measure, bound, unit, source)
        raise ValueError("; of a gauge, it ".join(reasons))


def _parse_option(name: str, value: object, source: str) -> object:
    if name == "slower":
        return slower_of(value, source)
    if name == "baseline" and (not isinstance(value, str) or not value):
        raise BudgetError(f"{source}: should be the name of a file")
    if name == "allow_different" and not isinstance(value, bool):
        raise BudgetError(f"{source}: should be true or false")
    return value


def _toml_key(key: str) -> str:
    """Return a key in TOML notation."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
