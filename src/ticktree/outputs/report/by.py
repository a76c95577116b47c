"""The tree with a column for each process, thread or role; or, where they are many, how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ticktree.analysis.wording import who
from ticktree.analysis.workers.by_writer import Spread, amounts, spread
from ticktree.analysis.workers.roles import By, Unit, roles
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.rows import Row, tree_rows
from ticktree.outputs.report.tree import tree_of
from ticktree.outputs.writing import columns, formatting
from ticktree.outputs.writing.columns import Column
from ticktree.outputs.writing.document import Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile

# No terminal is so wide that more would fit.
UNITS_AT_MOST = 24


def tree_by(profile: Profile, options: ViewOptions, by: By) -> Table:
    """Return the tree with what each process, thread or role had of every row.

    Where not all of them fit beside one another, the least, the middle and the most that anyone had, and who that
    was.
    """
    rows = tree_rows(profile, options)
    units = [unit for role in roles(profile, by) for unit in role.units]
    table = tree_of(rows, [*columns.BEFORE_UNITS, *_spreads(rows, units), *columns.AFTER_UNITS])
    if len(units) > UNITS_AT_MOST:
        return table
    for titles in (short_titles(units), [title_of(unit, by) for unit in units]):
        each = [_of_unit(unit, title) for unit, title in zip(units, titles, strict=True)]
        table = tree_of(rows, [*columns.BEFORE_UNITS, *each, *columns.AFTER_UNITS], narrower=table)
    return table


def title_of(unit: Unit, by: By) -> str:
    """Return what stands above the column of `unit`."""
    return visible(who(unit.name, unit.members) if by == "role" else unit.name)


def short_titles(units: Sequence[Unit]) -> list[str]:
    """Return the names of `units`, of those that follow one of their role only the number."""
    first, *rest = [visible(unit.name) for unit in units]
    follows = [before.role == unit.role for before, unit in pairwise(units)]
    names = zip(rest, units[1:], follows, strict=True)
    return [first, *(visible(u.name[len(u.role) + 1 :]) if short else name for name, u, short in names)]


def _of_unit(unit: Unit, title: str) -> Column[Row]:
    def text(row: Row) -> str:
        had = _had(row, [unit])
        return formatting.time(had[unit]) if had else ""

    return Column(title, text, 0)


def _spreads(rows: Sequence[Row], units: Sequence[Unit]) -> list[Column[Row]]:
    """Return the columns for many units; of a row that only one has, that and who it is says it all."""
    known = {id(row): spread(_had(row, units)) for row in rows}  # once, for they may be a thousand

    def of(row: Row) -> Spread | None:
        return known[id(row)]

    def low(row: Row) -> str:
        found = of(row)
        return formatting.time(found.min_ns) if found and found.units > 1 else ""

    def middle(row: Row) -> str:
        found = of(row)
        return formatting.time(found.median_ns) if found and found.units > 1 else ""

    def high(row: Row) -> str:
        found = of(row)
        return formatting.time(found.max_ns) if found else ""

    def slowest(row: Row) -> str:
        found = of(row)
        return visible(found.slowest.name) if found else ""

    return [
        Column("min", low, 3),
        Column("median", middle, 2),
        Column("max", high, 1),
        Column("slowest", slowest, 0, words=True),
    ]


def _had(row: Row, units: Sequence[Unit]) -> dict[Unit, int]:
    """Return what each of `units` had of `row`, in nanoseconds."""
    together: dict[str, int] = {}
    for node in row.nodes:
        for writer, share in node.by_writer.items():
            ns = share.self_ns if row.kind == "unaccounted" else share.total_ns
            together[writer] = together.get(writer, 0) + ns
    return amounts(together, units)
