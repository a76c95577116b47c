"""The options of a view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ticktree.analysis.finding import Settings
from ticktree.analysis.workers.roles import By

ExportPart: TypeAlias = Literal["totals", "calls"]
TableName: TypeAlias = Literal[
    "nodes", "loops", "gauges", "processes", "threads", "shares", "losses", "metadata"
]


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How to show a profile; an output ignores options that do not concern it.

    Attributes:
        width: columns of the terminal.
        color: whether to use terminal colours.
        all: whether to show every row and every kept tick.
        call_sites: whether to show the sections' call sites.
        run: what the user types to name the run, "" if that is not necessary; None if it has no name, and the view
            cannot show how to see the rest.
        by: one column per process, thread or role; None for the tree of all together.
        table: the table of the profile, for formats with one table per file.
        only: the half to write, for formats with totals and single calls; None for both, if available.
        settings: the thresholds of the rules.
    """

    width: int = 100
    color: bool = False
    all: bool = False
    call_sites: bool = False
    run: str | None = None
    by: By | None = None
    table: TableName = "nodes"
    only: ExportPart | None = None
    settings: Settings = field(default_factory=Settings)
