"""The user's choices in the live view, and the keys that change them. This module does not draw or wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

Order: TypeAlias = Literal["share", "rate", "p99", "name"]
ORDERS: tuple[Order, ...] = ("share", "rate", "p99", "name")

RowKey: TypeAlias = tuple[str, str]
"""A row's path and kind: it stays the same row when the rows move."""

FILTER_CELLS = 60  # the user pasted a longer text by mistake


@dataclass(frozen=True, slots=True)
class LiveView:
    """How to show a run.

    Attributes:
        order: sort order of rows with the same parent.
        filter: show only sections whose name contains this, and their ancestors; "" for all.
        is_typing: whether keys are letters of the filter.
        folded: paths of the nodes whose children are not shown.
        cursor: the row that keys act on; None for the first.
        top: the first visible row.
        is_paused: whether the screen is paused.
        shows_help: whether the keys are shown instead of the run.
        processes_first: whether the processes' columns precede those of the whole run if there is no room for both.
        first_process: the first visible process.
        loops: paths of the loops in the order in which they are shown.
        siblings: paths of each parent's rows in the order in which they are shown.
    """

    order: Order = "share"
    filter: str = ""
    is_typing: bool = False
    folded: frozenset[str] = frozenset()
    cursor: RowKey | None = None
    top: int = 0
    is_paused: bool = False
    shows_help: bool = False
    processes_first: bool = False
    first_process: int = 0
    loops: tuple[str, ...] = ()
    siblings: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def with_letters(self, letters: str) -> LiveView:
        """Return the view with typed text at the end of the filter."""
        letters = "".join(letter for letter in letters if letter.isprintable())
        return replace(self, filter=(self.filter + letters)[:FILTER_CELLS], top=0)

    def without_filter(self) -> LiveView:
        """Return the view with all sections."""
        return replace(self, filter="", is_typing=False)


Action: TypeAlias = Literal[
    "quit", "sort", "filter", "escape", "toggle", "fold", "unfold", "fold_all", "unfold_all", "pause",
    "processes", "next_process", "previous_process", "help", "up", "down", "page_up", "page_down", "first", "last",
]  # fmt: skip


class Key(NamedTuple):
    """Keys with the same action.

    Attributes:
        action: the name of the action.
        keys: textual's names of the keys.
        symbol: the keys' names for people.
        help: what they do, in a few words.
        label: the action's name in the last line; "" if it is not there.
    """

    action: Action
    keys: tuple[str, ...]
    symbol: str
    help: str
    label: str = ""


KEYS: tuple[Key, ...] = (
    Key("quit", ("q", "ctrl+c", "ctrl+q"), "q", "quit", "quit"),
    Key("sort", ("s",), "s", "sort by the next of share, rate, p99 and name", "sort"),
    Key("filter", ("slash", "f"), "/", "show only sections whose name contains the text", "filter"),
    Key("escape", ("escape",), "Esc", "show all sections again; leave this page"),
    Key("toggle", ("space", "enter"), "space", "fold or unfold the row (or click it)", "fold"),
    Key("fold", ("left",), "\u2190", "fold the row, or go to its parent"),
    Key("unfold", ("right",), "\u2192", "unfold the row"),
    Key("fold_all", ("minus",), "-", "fold everything"),
    Key("unfold_all", ("plus", "equals_sign"), "+", "unfold everything"),
    Key("pause", ("p",), "p", "pause reading and the screen; continue", "pause"),
    Key("processes", ("w",), "w", "processes before the whole run's columns, or after them", "processes"),
    Key("previous_process", ("left_square_bracket",), "[", "one process back"),
    Key("next_process", ("right_square_bracket",), "]", "one process forward"),
    Key("up", ("up", "k"), "\u2191", "a row up"),
    Key("down", ("down", "j"), "\u2193", "a row down"),
    Key("page_up", ("pageup",), "PgUp", "a page up"),
    Key("page_down", ("pagedown",), "PgDn", "a page down"),
    Key("first", ("home", "g"), "Home", "the first row"),
    Key("last", ("end", "G"), "End", "the last row"),
    Key("help", ("question_mark", "h"), "?", "these keys", "help"),
)  # fmt: skip

ACTIONS: dict[str, Action] = {name: key.action for key in KEYS for name in key.keys}
