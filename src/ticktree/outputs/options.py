"""What a reader may ask of a view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ticktree.analysis.finding import Settings
from ticktree.analysis.workers.roles import By

Only: TypeAlias = Literal["totals", "calls"]
TableName: TypeAlias = Literal[
    "nodes", "loops", "gauges", "processes", "threads", "shares", "losses", "metadata"
]


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How to show a profile; an output passes over what does not concern it.

    Attributes:
        width: columns of the terminal.
        color: whether to use terminal colours.
        all: show every row and every tick kept, however small.
        call_sites: show where each section was called from.
        run: what the user types to name the run, "" where nothing needs to be typed; None where it has no name, and
            the view cannot say how to see the rest.
        by: whether the tree has a column for each process, thread or role; None for the tree of all together.
        table: which table of the profile, where a file holds one.
        only: which half, where a file can hold totals and single calls; None for both, as far as they are there.
        settings: how the profile is judged.
    """

    width: int = 100
    color: bool = False
    all: bool = False
    call_sites: bool = False
    run: str | None = None
    by: By | None = None
    table: TableName = "nodes"
    only: Only | None = None
    settings: Settings = field(default_factory=Settings)
