"""Plain tables, as hand-made summaries print them: a name, and numbers at the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_GAP = "  "
_NAME_AT_MOST = 60


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines; of a name that is too long its end is shown."""
    rows = [[_ended(name), *cells] for name, *cells in rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    yield rule
    yield _line(heads, widths)
    yield rule
    for row in rows:
        yield _line(row, widths)
    yield rule


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = cells
    aligned = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
    return _GAP.join([name.ljust(widths[0]), *aligned])


def _ended(name: str) -> str:
    return name if len(name) <= _NAME_AT_MOST else "..." + name[3 - _NAME_AT_MOST :]
