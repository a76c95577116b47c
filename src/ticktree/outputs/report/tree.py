"""The tree as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.rows import Kind, Row, tree_rows
from ticktree.outputs.writing import columns
from ticktree.outputs.writing.columns import Column
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames

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
    return tree_of(tree_rows(profile, options), columns.TREE, names=ShortNames(profile.root))


def tree_of(
    rows: Sequence[Row],
    shown: Sequence[Column[Row]],
    narrower: Table | None = None,
    names: ShortNames | None = None,
) -> Table:
    """Return `rows` with the columns `shown`, and short names where there are `names`."""
    names = names or ShortNames()
    heads = [column.head for column in shown]
    entries = [_entry(row, [column.text(row) for column in shown], names) for row in rows]
    return Table("", "section", heads, entries, bar_rank=_BAR_RANK, narrower=narrower)


def _entry(row: Row, cells: Sequence[str], names: ShortNames) -> Entry:
    is_top = row.kind == "section" and not row.guide
    return Entry(
        name=row.name,
        cells=cells,
        short=visible(names.of(row.nodes[0].name)) if row.kind in ("section", "wait") and row.nodes else "",
        tone="strong" if is_top else _TONES[row.kind],
        mark=row.mark,
        notes=row.notes,
        guide=row.guide,
        trunk=row.trunk,
        share=row.share,
    )
