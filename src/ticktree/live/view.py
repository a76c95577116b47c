"""What the one who watches has chosen, and how keys change it. Nothing here draws or waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

Order: TypeAlias = Literal["share", "rate", "p99", "name"]
ORDERS: tuple[Order, ...] = ("share", "rate", "p99", "name")

Place: TypeAlias = tuple[str, str]
"""A row's path and kind: it stays the same row when the rows move."""

FILTER_CELLS = 60  # more than that was pasted by mistake


@dataclass(frozen=True, slots=True)
class View:
    """How to look at a run.

    Attributes:
        order: what rows of one parent are sorted by.
        filter: show only sections whose name holds this, and what leads to them; "" for all.
        typing: whether keys are letters of the filter.
        folded: paths of the nodes whose children are not shown.
        cursor: the row that keys act on; None for the first.
        top: the first row in sight.
        paused: whether the screen stands still.
        helping: whether the keys are shown in place of the run.
        by_process: whether the processes go before the whole run where there is no room for both.
        first_process: the first process in sight.
        loops: paths of the loops in the order in which they are shown.
        siblings: paths of each parent's rows in the order in which they are shown.
    """

    order: Order = "share"
    filter: str = ""
    typing: bool = False
    folded: frozenset[str] = frozenset()
    cursor: Place | None = None
    top: int = 0
    paused: bool = False
    helping: bool = False
    by_process: bool = False
    first_process: int = 0
    loops: tuple[str, ...] = ()
    siblings: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def sorted_next(self) -> View:
        """Sort by the next of the orders."""
        return replace(self, order=ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)], siblings={})

    def typed(self, letters: str) -> View:
        """Add to the filter what was typed."""
        letters = "".join(letter for letter in letters if letter.isprintable())
        return replace(self, filter=(self.filter + letters)[:FILTER_CELLS], top=0)

    def erased(self) -> View:
        """Take the last letter of the filter away."""
        return replace(self, filter=self.filter[:-1], top=0)

    def unfiltered(self) -> View:
        """Show all again."""
        return replace(self, filter="", typing=False)

    def toggled(self, path: str) -> View:
        """Fold a node that is unfolded, and the other way round."""
        return replace(self, folded=self.folded ^ {path})

    def without(self, path: str) -> View:
        """Fold a node."""
        return replace(self, folded=self.folded | {path})

    def with_below(self, path: str) -> View:
        """Unfold a node."""
        return replace(self, folded=self.folded - {path})
