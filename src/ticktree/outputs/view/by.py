"""The tree with one column per process, thread or role; for many of them, with their minimum, median and maximum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.workers.roles import By, Spread, Unit, amounts, roles, spread
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.tables import Column, who
from ticktree.outputs.view.tree import Notes, TreeRow, tree_of, tree_rows
from ticktree.outputs.writing.document import Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames

# More columns fit in no terminal.
UNITS_AT_MOST = 24
# Rows of a smaller share of the run are shown only with `--all`.
LEAST_SHARE = 0.001

_BEFORE: tuple[Column[TreeRow], ...] = (
    Column("share", "share", "share", 0, "Share of the run's time."),
    Column("ns", "total", "ns", 5, "Total time.", lambda row: round(row.ns)),
)
_AFTER: tuple[Column[TreeRow], ...] = (
    Column("calls", "calls", "count", 4, "Completed calls.", lambda row: row.stats.count or None),
)


def tree_by(profile: Profile, run: LoopView, options: ViewOptions, by: By) -> Table:
    """Return the tree of the run, with the time of each process, thread or role in every row.

    If not all of them fit next to one another, the columns are minimum, median, maximum, and who had the maximum.
    """
    rows = tree_rows(run, least_share=0.0 if options.all else LEAST_SHARE)
    units = [unit for role in roles(profile, by) for unit in role.units]
    names, notes = ShortNames(profile.root), Notes(options, fastest_machine(profile))
    title = f"The run by {by}"

    def table(columns: Sequence[Column[TreeRow]], narrower: Table | None = None) -> Table:
        return tree_of(rows, [*_BEFORE, *columns, *_AFTER], title, names, notes, narrower)

    narrow = table(_spreads(rows, units))
    if len(units) > UNITS_AT_MOST:
        return narrow
    for titles in (short_titles(units), [title_of(unit, by) for unit in units]):
        narrow = table([_of_unit(unit, head) for unit, head in zip(units, titles, strict=True)], narrow)
    return narrow


def title_of(unit: Unit, by: By) -> str:
    """Return the head of the column of `unit`."""
    return visible(who(unit.name, unit.members) if by == "role" else unit.name)


def short_titles(units: Sequence[Unit]) -> list[str]:
    """Return the names of `units`; after the first of a role, only the numbers of the others."""
    first, *rest = [visible(unit.name) for unit in units]
    follows = [before.role == unit.role for before, unit in pairwise(units)]
    names = zip(rest, units[1:], follows, strict=True)
    return [first, *(visible(u.name[len(u.role) + 1 :]) if short else name for name, u, short in names)]


def _of_unit(unit: Unit, title: str) -> Column[TreeRow]:
    def value(row: TreeRow) -> int | None:
        return _had(row, [unit]).get(unit)

    return Column(f"of_{unit.name}", title, "ns", 0, f"Time of {visible(unit.name)} in the run.", value)


def _spreads(rows: Sequence[TreeRow], units: Sequence[Unit]) -> list[Column[TreeRow]]:
    """Return the columns for many units; a row that only one unit has needs its time and its name only."""
    known = {id(row): spread(_had(row, units)) for row in rows}  # once, because there may be a thousand units

    def several(row: TreeRow) -> Spread | None:
        found = known[id(row)]
        return found if found and found.units > 1 else None

    def low(row: TreeRow) -> int | None:
        found = several(row)
        return found.min_ns if found else None

    def middle(row: TreeRow) -> float | None:
        found = several(row)
        return found.median_ns if found else None

    def high(row: TreeRow) -> int | None:
        found = known[id(row)]
        return found.max_ns if found else None

    def slowest(row: TreeRow) -> str | None:
        found = known[id(row)]
        return found.slowest.name if found else None

    return [
        Column("min_ns", "min", "ns", 3, "The smallest time of those with any.", low),
        Column("median_ns", "median", "ns", 2, "The middle.", middle),
        Column("max_ns", "max", "ns", 1, "The largest time.", high),
        Column("slowest", "slowest", "", 0, "The process, thread or role with the largest time.", slowest),
    ]


def _had(row: TreeRow, units: Sequence[Unit]) -> dict[Unit, int]:
    """Return the time of each of `units` in `row`, in nanoseconds."""
    together = {
        writer: share.self_ns if row.kind == "self" else share.total_ns
        for writer, share in row.node.by_writer.items()
    }
    return amounts(together, units)
