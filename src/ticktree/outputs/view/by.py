"""The tree with one column per process, thread or role; for many of them, with their minimum, median and maximum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from ticktree.analysis.loops import LoopView
from ticktree.analysis.machine import fastest_machine
from ticktree.analysis.workers.roles import By, Unit, amounts, roles, spread
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.notes import notes_of
from ticktree.outputs.view.tables import Column, who
from ticktree.outputs.view.tree import TreeRow, tree_of, tree_rows
from ticktree.outputs.writing.document import Table
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames

# More columns fit in no terminal.
UNITS_AT_MOST = 24
# Rows of a smaller share of the run are shown only with `--all`.
LEAST_SHARE = 0.001

_SHARE: Column[TreeRow] = Column("share", "share", "share", 0, "Share of the run's time.")
_TOTAL: Column[TreeRow] = Column("ns", "total", "ns", 5, "Total time.")
_CALLS: Column[TreeRow] = Column(
    "calls", "calls", "count", 4, "Completed calls.", lambda row: row.stats.count or None
)


def tree_by(profile: Profile, run: LoopView, options: ViewOptions, by: By) -> Table:
    """Return the tree of the run, with the time of each process, thread or role in every row.

    If not all of them fit next to one another, the columns are minimum, median, maximum, and who had the maximum.
    """
    rows = tree_rows(run, least_share=0.0 if options.all else LEAST_SHARE)
    units = [unit for role in roles(profile, by) for unit in role.units]
    names, notes = ShortNames(profile.root), partial(notes_of, options=options, here=fastest_machine(profile))
    title = f"The run by {by}"

    def table(columns: Sequence[Column[TreeRow]], narrower: Table | None = None) -> Table:
        return tree_of(rows, [_SHARE, _TOTAL, *columns, _CALLS], title, names, notes, narrower)

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
    about = f"Time of {visible(unit.name)} in the run."
    return Column(f"of_{unit.name}", title, "ns", 0, about, lambda row: _had(row, [unit]).get(unit))


def _spreads(rows: Sequence[TreeRow], units: Sequence[Unit]) -> list[Column[TreeRow]]:
    """Return the columns for many units; a row that only one unit has needs its time and its name only."""
    known = {id(row): spread(_had(row, units)) for row in rows}  # once, because there may be a thousand units

    def of(name: str, least_units: int = 1) -> Callable[[TreeRow], Any]:
        def value(row: TreeRow) -> Any:
            found = known[id(row)]
            return attrgetter(name)(found) if found and found.units >= least_units else None

        return value

    return [
        Column("min_ns", "min", "ns", 3, "The smallest time of those with any.", of("min_ns", 2)),
        Column("median_ns", "median", "ns", 2, "The middle.", of("median_ns", 2)),
        Column("max_ns", "max", "ns", 1, "The largest time.", of("max_ns")),
        Column(
            "slowest",
            "slowest",
            "",
            0,
            "The process, thread or role with the largest time.",
            of("slowest.name"),
        ),
    ]


def _had(row: TreeRow, units: Sequence[Unit]) -> dict[Unit, int]:
    kind = "self_ns" if row.kind == "self" else "total_ns"
    return amounts({writer: getattr(share, kind) for writer, share in row.node.by_writer.items()}, units)
