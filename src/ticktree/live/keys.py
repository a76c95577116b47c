"""What the keys do: one table for the screen's last line, its help and whoever reads them."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

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
