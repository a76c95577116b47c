"""Plain tables with names that are cut at their front, and a rule at the end."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.outputs.writing import plain

_NAME_AT_MOST = 60


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines; of a name that is too long its end is shown."""
    lines = list(plain.table(heads, [[_ended(name), *cells] for name, *cells in rows]))
    return [*lines, lines[0]]


def _ended(name: str) -> str:
    return name if len(name) <= _NAME_AT_MOST else "..." + name[3 - _NAME_AT_MOST :]
