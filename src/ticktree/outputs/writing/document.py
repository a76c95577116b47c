"""The parts of a view, independent of how it is drawn: a heading, tables, recommendations, and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

# How an entry is drawn: as usual, emphasized, as a wait, as no section, as left out, as a problem, as an improvement.
Tone: TypeAlias = Literal["plain", "strong", "wait", "quiet", "faint", "alarm", "good", "warning"]
# How the verdicts of comparisons, histories, experiments and budgets are drawn.
_VERDICTS: Mapping[Tone, Sequence[str]] = {
    "plain": ("no difference", "no change"),
    "faint": ("inconclusive", "too few runs", "cannot tell"),
    "strong": ("only in base", "only in new"),
    "good": ("faster", "gain", "exact", "pass"),
    "alarm": ("slower", "loss", "fail", "not measured"),
    "warning": ("estimates disagree",),
}
VERDICT_TONES: Mapping[str, Tone] = {word: tone for tone, words in _VERDICTS.items() for word in words}


# The value of a cell for programs: nanoseconds, a fraction, a count, a word; None for an empty cell.
Value: TypeAlias = str | int | float | None


class PageFields:
    """A dataclass that is passed to pages field by field."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return its fields for pages."""
        return {field.name: _field(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _field(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_field(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
        title: safe to show.
        rank: the order in which columns are dropped if there is no room, the highest first; 0 is never dropped.
        words: whether its cells are words, not numbers.
        key: its name for programs.
        unit: of its values: a key of `formatting.UNITS`, or "" for words.
        help: its meaning, in a sentence.
    """

    title: str
    rank: int
    words: bool = False
    key: str = ""
    unit: str = ""
    help: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {name: getattr(self, name) for name in ("key", "title", "unit", "help", "rank")}


@dataclass(frozen=True, slots=True)
class Heading:
    """What ran, and the facts that a reader needs before the first number."""

    title: str
    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a table. All of it is safe to show.

    Attributes:
        name: of what the row describes.
        cells: one per head of the table.
        tone: how it is drawn.
        mark: a word after the name.
        notes: further facts, each in a few words.
        guide: the tree lines that lead to it from the rows above.
        trunk: the tree lines that lead past it to the rows below.
        share: the length of its bar, if the table has bars.
        about: lines below the row, each a list of pieces.
        short: a shorter name for narrow tables; "" to shorten the name itself.
        values: the cells' values for programs, one per cell; empty if there are only cells.
        path: of the node that it describes; "" for the root, or without a node.
    """

    name: str
    cells: Sequence[str]
    tone: Tone = "plain"
    mark: str = ""
    notes: Sequence[str] = ()
    guide: str = ""
    trunk: str = ""
    share: float | None = None
    about: Sequence[Sequence[str]] = ()
    short: str = ""
    values: Sequence[Value] = ()
    path: str = ""

    def to_dict(self, heads: Sequence[Head]) -> dict[str, Any]:
        """Return its fields for pages, with each cell's text and value by the column's key."""
        keys = [head.key or head.title for head in heads]
        return {
            "name": self.name,
            "path": self.path,
            "mark": self.mark,
            "tone": self.tone,
            "depth": len(self.guide) // 3,
            "share": self.share,
            "cells": dict(zip(keys, self.cells, strict=True)),
            "values": dict(zip(keys, self.values, strict=True)) if self.values else {},
            "notes": list(self.notes),
            "about": [list(pieces) for pieces in self.about],
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers with names.

    Attributes:
        title: of the table; "" if it needs none.
        noun: what one row describes, never "".
        heads: the columns.
        entries: the rows.
        bar_rank: rank at which the bars of the entries' shares are dropped; None for no bars.
        remark: a sentence that readers of the table need; "" for none.
        narrower: the same table with fewer columns, for narrow terminals.
        folded: the line that replaces the table where a view can fold it; "" if it must be visible.
    """

    title: str
    noun: str
    heads: Sequence[Head]
    entries: Sequence[Entry]
    bar_rank: int | None = None
    remark: str = ""
    narrower: Table | None = None
    folded: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "title": self.title,
            "noun": self.noun,
            "columns": [head.to_dict() for head in self.heads],
            "rows": [entry.to_dict(self.heads) for entry in self.entries],
            "remark": self.remark,
        }


@dataclass(frozen=True, slots=True)
class EmptyNotice:
    """The message that there is no tree, and what to do."""

    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list."""

    text: str
    lead: str = ""
    about: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences below a title."""

    title: str
    items: Sequence[Item]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines without a title, whose pieces are not broken.

    Attributes:
        lines: each a list of pieces.
        tone: how they are drawn.
        mark: the prefix of each, such as "!" for warnings.
        is_apart: whether an empty line precedes them.
    """

    lines: Sequence[Sequence[str]]
    tone: Tone = "plain"
    mark: str = ""
    is_apart: bool = True


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses, piece by piece."""

    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of characters, safe to show."""

    lines: Sequence[Sequence[tuple[str, Tone]]]


Part: TypeAlias = Heading | Table | EmptyNotice | Listing | Lines | Losses | Picture
