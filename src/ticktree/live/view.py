"""What the one who watches has chosen, which keys change it, and how. Nothing here draws or waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

Order: TypeAlias = Literal["share", "rate", "p99", "name"]
ORDERS: tuple[Order, ...] = ("share", "rate", "p99", "name")

Place: TypeAlias = tuple[str, str]
"""A row's path and kind: it stays the same row when the rows move."""

FILTER_CELLS = 60  # more than that was pasted by mistake


@dataclass(frozen=True, slots=True)
class LiveView:
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

    def sorted_next(self) -> LiveView:
        """Sort by the next of the orders."""
        return replace(self, order=ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)], siblings={})

    def typed(self, letters: str) -> LiveView:
        """Add to the filter what was typed."""
        letters = "".join(letter for letter in letters if letter.isprintable())
        return replace(self, filter=(self.filter + letters)[:FILTER_CELLS], top=0)

    def erased(self) -> LiveView:
        """Take the last letter of the filter away."""
        return replace(self, filter=self.filter[:-1], top=0)

    def unfiltered(self) -> LiveView:
        """Show all again."""
        return replace(self, filter="", typing=False)

    def toggled(self, path: str) -> LiveView:
        """Fold a node that is unfolded, and the other way round."""
        return replace(self, folded=self.folded ^ {path})

    def without(self, path: str) -> LiveView:
        """Fold a node."""
        return replace(self, folded=self.folded | {path})

    def with_below(self, path: str) -> LiveView:
        """Unfold a node."""
        return replace(self, folded=self.folded - {path})


Action: TypeAlias = Literal[
    "quit", "sort", "filter", "escape", "toggle", "fold", "unfold", "fold_all", "unfold_all", "pause",
    "processes", "next_process", "previous_process", "help", "up", "down", "page_up", "page_down", "first", "last",
]  # fmt: skip


class Key(NamedTuple):
    """Keys that do the same.

    Attributes:
        action: what they do.
        keys: their names, as textual has them.
        shown: as people call them.
        says: what they do, in a few words.
        label: the same in the last line; "" where it has no place there.
    """

    action: Action
    keys: tuple[str, ...]
    shown: str
    says: str
    label: str = ""


KEYS: tuple[Key, ...] = (
    Key("quit", ("q", "ctrl+c", "ctrl+q"), "q", "quit", "quit"),
    Key("sort", ("s",), "s", "sort by the next of share, rate, p99 and name", "sort"),
    Key("filter", ("slash", "f"), "/", "show only sections with these letters in their name", "filter"),
    Key("escape", ("escape",), "Esc", "show all sections again; leave this page"),
    Key("toggle", ("space", "enter"), "space", "fold or unfold the row (a mouse click does it too)", "fold"),
    Key("fold", ("left",), "\u2190", "fold the row, or go to its parent"),
    Key("unfold", ("right",), "\u2192", "unfold the row"),
    Key("fold_all", ("minus",), "-", "fold everything"),
    Key("unfold_all", ("plus", "equals_sign"), "+", "unfold everything"),
    Key("pause", ("p",), "p", "stop reading and let the screen stand still; go on", "pause"),
    Key("processes", ("w",), "w", "processes before the whole run's columns, or after them", "processes"),
    Key("previous_process", ("left_square_bracket",), "[", "one process back"),
    Key("next_process", ("right_square_bracket",), "]", "one process on"),
    Key("up", ("up", "k"), "\u2191", "a row up"),
    Key("down", ("down", "j"), "\u2193", "a row down"),
    Key("page_up", ("pageup",), "PgUp", "a page up"),
    Key("page_down", ("pagedown",), "PgDn", "a page down"),
    Key("first", ("home", "g"), "Home", "the first row"),
    Key("last", ("end", "G"), "End", "the last row"),
    Key("help", ("question_mark", "h"), "?", "these keys", "help"),
)  # fmt: skip

ACTIONS: dict[str, Action] = {name: key.action for key in KEYS for name in key.keys}
