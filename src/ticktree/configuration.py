"""Configuration of a project in its pyproject.toml, under [tool.ticktree]."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ticktree.analysis.categories import Categories
from ticktree.analysis.finding import Settings, Thresholds, Weights
from ticktree.analysis.quantities import duration_ns, fraction, size_bytes
from ticktree.errors import TicktreeError
from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, read_bytes

if TYPE_CHECKING:
    from ticktree.analysis.budgets.plan import Plan

FILE_NAME = "pyproject.toml"
# The tables under [tool.ticktree].
TABLES = ("budgets", "categories", "score")

_WEIGHTS = ("time", "call", "memory", "device_memory")
_THRESHOLDS: Mapping[str, tuple[str, Callable[[object], float]]] = {
    "critical": ("critical_share", fraction),
    "slow": ("slow_ns", duration_ns),
    "memory": ("memory_bytes", size_bytes),
    "device_memory": ("device_memory_bytes", size_bytes),
}


class ConfigurationError(TicktreeError):
    """A file's configuration is invalid; one line names the file and the key."""


class ConfigurationTable(Mapping[str, Any]):
    """A table of a configuration, with its name and its file.

    Args:
        values: TOML values by key.
        name: of the table, such as "tool.ticktree.score".
        path: of the file; None if there is none.
    """

    def __init__(
        self, values: Mapping[str, Any], name: str = "tool.ticktree", path: Path | None = None
    ) -> None:
        self._values = values
        self.name = name
        self.path = path

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fail(self, key: str, why: str) -> NoReturn:
        """Reject the value of `key`.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(f"{self.path or FILE_NAME}: [{self.name}] {key}: {why}")

    def table(self, key: str) -> ConfigurationTable:
        """Return the table `key`, empty if it is absent.

        Raises:
            ConfigurationError: it is not a table.
        """
        values = self._values.get(key, {})
        if not isinstance(values, dict):
            self.fail(key, f"should be a table, not {values!r:.60}")
        return ConfigurationTable(values, f"{self.name}.{key}", self.path)

    def reject_unknown(self, valid_keys: tuple[str, ...]) -> None:
        """Reject keys that are not among `valid_keys`, and suggest the closest match.

        Raises:
            ConfigurationError: there is an unknown key.
        """
        for key in self._values:
            if key not in valid_keys:
                matches = get_close_matches(key, valid_keys, n=1)
                hint = (
                    f"; did you mean {matches[0]}?"
                    if matches
                    else f"; there are {', '.join(sorted(valid_keys))}"
                )
                self.fail(key, f"there is no such key{hint}")

    def parse_value(self, key: str, parse: Callable[[object], Any]) -> Any:
        """Return the value of `key` parsed with `parse`.

        Raises:
            ConfigurationError: `parse` raises a ValueError.
        """
        try:
            return parse(self._values[key])
        except ValueError as error:
            self.fail(key, str(error))


def configuration(start: Path | None = None) -> ConfigurationTable:
    """Return [tool.ticktree] of the nearest pyproject.toml that has one, from `start` upwards; else an empty table.

    Args:
        start: a directory; None for the current one.

    Raises:
        ConfigurationError: a pyproject.toml on the way cannot be read, or contains unknown keys.
    """
    start = (start or Path()).absolute()
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        table = _read_tool_table(path) if path.is_file() else None
        if table is not None:
            return table
    return ConfigurationTable({})


def configuration_in(path: Path) -> ConfigurationTable:
    """Return [tool.ticktree] of one file.

    Raises:
        ConfigurationError: the file cannot be read, has no such table, or contains unknown keys.
    """
    table = _read_tool_table(path)
    if table is None:
        raise ConfigurationError(f"{path}: there is no [tool.ticktree] in it")
    return table


def budgets(table: ConfigurationTable) -> Plan:
    """Return the budgets in the table that `configuration` returned.

    Raises:
        BudgetError: one of them is invalid; a line that names the file and the key.
    """
    from ticktree.analysis.budgets.plan import plan_of  # imports modules that only comparisons need

    values = table.table("budgets")
    return plan_of(values, f"{values.path or FILE_NAME}: [{values.name}]")


def settings(table: ConfigurationTable) -> Settings:
    """Return the settings in the table that `configuration` returned.

    Raises:
        ConfigurationError: a value is invalid.
    """
    score = table.table("score")
    score.reject_unknown(("weights", "thresholds"))
    return Settings(
        categories=_categories(table.table("categories")),
        weights=_weights(score.table("weights")),
        thresholds=_thresholds(score.table("thresholds")),
    )


def _read_tool_table(path: Path) -> ConfigurationTable | None:
    """Return [tool.ticktree] of a file, None if it has none."""
    try:
        document = tomllib.loads(read_bytes(path, MAX_FACTS_BYTES).decode())
    except FileError as error:
        raise ConfigurationError(str(error)) from None
    except (ValueError, RecursionError) as error:  # bad TOML, or bad UTF-8
        raise ConfigurationError(f"{path}: not TOML: {str(error).splitlines()[0]}") from None
    tool = document.get("tool", {})
    values = tool.get("ticktree") if isinstance(tool, dict) else None
    if values is not None and not isinstance(values, dict):
        raise ConfigurationError(f"{path}: [tool] ticktree: should be a table, not {values!r:.60}")
    if values is None:
        return None
    table = ConfigurationTable(values, path=path)
    table.reject_unknown(TABLES)
    return table


def _categories(table: ConfigurationTable) -> dict[str, tuple[str, ...]]:
    return {name: table.parse_value(name, _patterns) for name in table}


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(pattern, str) for pattern in value):
        raise ValueError(f'should be a list of patterns such as ["env", "draw*"], not {value!r:.60}')
    patterns = tuple(value)
    Categories({"": patterns})  # raises for patterns without words
    return patterns


def _weights(table: ConfigurationTable) -> Weights:
    table.reject_unknown(_WEIGHTS)
    weights = Weights(**{key: table.parse_value(key, fraction) for key in table})
    if not any(getattr(weights, key) for key in _WEIGHTS):
        table.fail(", ".join(_WEIGHTS), "one of them must be more than 0")
    return weights


def _thresholds(table: ConfigurationTable) -> Thresholds:
    table.reject_unknown(tuple(_THRESHOLDS))
    return Thresholds(**{_THRESHOLDS[key][0]: table.parse_value(key, _THRESHOLDS[key][1]) for key in table})
