"""Answers: the rows of a query as a table for a terminal, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ticktree.errors import one_line
from ticktree.outputs.csv import shown
from ticktree.outputs.markdown import escaped

# Of what a person reads; the other formats have every row.
SHOWN = 200

Rows = Iterator[Sequence[Any]]


def terminal(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of an aligned table."""
    shown = list(islice(rows, SHOWN))
    numeric = [bool(shown) and all(_is_number(row[at]) for row in shown) for at in range(len(columns))]
    table = [[one_line(name) for name in columns], *([_shown(value) for value in row] for row in shown)]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
    for cells in table:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        yield "  ".join(aligned).rstrip() + "\n"
    yield from _rest(rows)


def markdown(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield _row([escaped(one_line(name)) for name in columns])
    yield _row(["---"] * len(columns))
    for row in islice(rows, SHOWN):
        yield _row([escaped(_shown(value)) if isinstance(value, str) else _shown(value) for value in row])
    yield from _rest(rows)


def comma_separated(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the lines of a CSV file; an empty cell is what is not known. Names are written as `report` writes them."""
    yield _csv_line([shown("", name) for name in columns])
    for row in rows:
        yield _csv_line([shown(name, value) for name, value in zip(columns, row, strict=True)])


def objects(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield the pieces of a JSON list with an object a row."""
    before = "["
    for row in rows:
        yield f"{before}\n{json.dumps(dict(zip(columns, row, strict=True)), default=str)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


FORMATS: Mapping[str, Callable[[Sequence[str], Rows], Iterator[str]]] = {
    "terminal": terminal,
    "csv": comma_separated,
    "json": objects,
    "markdown": markdown,
}


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else one_line(str(value))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _csv_line(row: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def _rest(rows: Rows) -> Iterator[str]:
    more = sum(1 for _ in rows)
    if more:
        yield f"... and {more:,} rows more: --format csv has them all\n"
