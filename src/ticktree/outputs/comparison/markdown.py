"""A comparison in markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.outputs.comparison.rows import TITLES, Row, difference_lines, loop_rows, node_rows, remarks
from ticktree.outputs.markdown import escaped, table
from ticktree.outputs.options import ViewOptions

_MARKS = {"slower": "🔴 ", "faster": "🟢 "}


def render(comparison: Comparison, differences: Sequence[Difference], options: ViewOptions) -> bytes:
    """Return the comparison as a markdown document in UTF-8."""
    return "\n".join(_lines(comparison, differences, options)).encode() + b"\n"


def _lines(comparison: Comparison, differences: Sequence[Difference], options: ViewOptions) -> Iterator[str]:
    if differences:
        yield "Not the same on both sides:"
        yield ""
        yield from (f"- {escaped(line)}" for line in difference_lines(differences))
        yield ""
    for title, rows in (("loop", loop_rows(comparison)), ("section", node_rows(comparison, options))):
        if rows:
            yield from table([title, *TITLES, ""], len(TITLES), map(_cells, rows))
            yield ""
    for remark in remarks(comparison, options):
        yield escaped(remark)
        yield ""


def _cells(row: Row) -> list[str]:
    guide = row.guide.replace(" ", "\u00a0")
    verdict = _MARKS.get(row.verdict, "") + row.cells[0]
    numbers = [cell.replace(" ", "\u00a0") for cell in row.cells[1:]]
    return [guide + escaped(row.name), verdict, *numbers, escaped(" · ".join(row.notes))]
