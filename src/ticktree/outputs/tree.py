"""The tree as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.outputs import columns
from ticktree.outputs.columns import Column
from ticktree.outputs.document import Entry, Table, Tone
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.rows import Kind, Row, tree_rows
from ticktree.profile import Profile

_BAR_RANK = 4
_TONES: dict[Kind, Tone] = {
    "section": "plain",
    "wait": "wait",
    "unaccounted": "quiet",
    "folded": "faint",
    "itself": "quiet",
}


def tree(profile: Profile, options: ViewOptions) -> Table:
    """Return the tree of `profile`, with the columns for what was asked for."""
    return tree_of(tree_rows(profile, options), columns.TREE)


def tree_of(rows: Sequence[Row], shown: Sequence[Column[Row]], narrower: Table | None = None) -> Table:
    """Return `rows` with the columns `shown`."""
    heads = [column.head for column in shown]
    entries = [_entry(row, [column.text(row) for column in shown]) for row in rows]
    return Table("", "section", heads, entries, bar_rank=_BAR_RANK, narrower=narrower)


def _entry(row: Row, cells: Sequence[str]) -> Entry:
    is_top = row.kind == "section" and not row.guide
    return Entry(
        name=row.name,
        cells=cells,
        tone="strong" if is_top else _TONES[row.kind],
        mark=row.mark,
        notes=row.notes,
        guide=row.guide,
        trunk=row.trunk,
        share=row.share,
    )
