"""The terminal's view of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ticktree.analysis.comparison import Comparison, Difference, Verdict
from ticktree.outputs.comparison.rows import (
    RANKS,
    TITLES,
    Row,
    difference_lines,
    loop_rows,
    node_rows,
    remarks,
)
from ticktree.outputs.grid import Head, Line, cut, drawn
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.terminal import LEAST_WIDTH, encoded, wrapped

_STYLES: dict[Verdict, str] = {
    "slower": "red",
    "faster": "green",
    "no difference": "",
    "cannot tell": "dim",
    "only in base": "yellow",
    "only in new": "yellow",
}


def render(comparison: Comparison, differences: Sequence[Difference], options: ViewOptions) -> bytes:
    """Return what `ticktree compare` prints, in UTF-8."""
    width = max(LEAST_WIDTH, options.width)
    return encoded(list(_lines(comparison, differences, options, width)), options.color)


def _lines(
    comparison: Comparison, differences: Sequence[Difference], options: ViewOptions, width: int
) -> Iterator[Text]:
    if differences:
        yield Text("not the same on both sides", "bold")
        for difference, line in zip(differences, difference_lines(differences), strict=True):
            yield Text("  " + cut(line, width - 2), "yellow" if difference.is_ground else "")
        yield Text()
    loops = loop_rows(comparison)
    if loops:
        yield from _table("loops", loops, width)
        yield Text()
    yield from _table("sections", node_rows(comparison, options), width)
    yield Text()
    for remark in remarks(comparison, options):
        yield from wrapped(remark.split(" "), " ", width, "dim")


def _table(title: str, rows: Sequence[Row], width: int) -> Iterator[Text]:
    heads = [
        Head(title, rank, left=rank == 0 and at == 0)
        for at, (title, rank) in enumerate(zip(TITLES, RANKS, strict=True))
    ]
    lines = [
        Line(
            row.name, row.cells, notes=row.notes, guide=row.guide, trunk=row.guide, style=_STYLES[row.verdict]
        )
        for row in rows
    ]
    yield from drawn(title, heads, lines, width)
