"""Plan: the budgets of a project, as its configuration or a command line has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ticktree.analysis.budgets.budget import Budget, budget
from ticktree.analysis.budgets.errors import BudgetError
from ticktree.analysis.quantities import part
from ticktree.errors import did_you_mean

# Twice what two builds of the same code differ by is a slowdown that somebody made.
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
