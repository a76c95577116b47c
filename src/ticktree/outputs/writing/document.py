"""What a view consists of, before anything draws it: a heading, tables, advice, and what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

# How an entry speaks: as any other, as one to begin with, of waiting, of what is no section, of what was left
# out, of something wrong, of something better.
Tone: TypeAlias = Literal["plain", "strong", "wait", "quiet", "faint", "alarm", "good", "warning"]
# How the verdicts of comparisons, histories, experiments and budgets speak.
VERDICT_TONES: Mapping[str, Tone] = {
    "slower": "alarm",
    "faster": "good",
    "no difference": "plain",
    "no change": "plain",
    "inconclusive": "faint",
    "too few runs": "faint",
    "only in base": "strong",
    "only in new": "strong",
    "gain": "good",
    "exact": "good",
    "loss": "alarm",
    "cannot tell": "faint",
    "estimates disagree": "warning",
    "broken": "alarm",
    "not measured": "alarm",
    "held": "good",
}


# What a program reads where a person reads a cell: nanoseconds, a part of 1, a count, a word; None for an empty cell.
Value: TypeAlias = str | int | float | None


class PageFields:
    """A dataclass that pages get field by field."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {each.name: _field(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]


def _field(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_field(each) for each in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above a column.

    Attributes:
        title: safe to show.
        rank: how soon the column is given up where there is no room: the highest first; 0 is never.
        words: whether words stand in it, not numbers.
        key: what programs call it.
        unit: of its values: a key of `formatting.UNITS`, or "" of words.
        help: what it says, in a sentence.
    """

    title: str
    rank: int
    words: bool = False
    key: str = ""
    unit: str = ""
    help: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "help": self.help,
            "rank": self.rank,
        }


@dataclass(frozen=True, slots=True)
class Heading:
    """What was run, and what must be known before the first number."""

    title: str
    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a table. All of it is safe to show.

    Attributes:
        name: what it is of.
        cells: one for each of the table's heads.
        tone: how it is drawn.
        mark: a word on the name.
        notes: what else is known of it, each in a few words.
        guide: the lines that lead to it from the rows above.
        trunk: the lines that lead past it to the rows below.
        share: how long its bar is, where the table has bars.
        about: what there is to say below it, line by line, each piece by piece.
        short: the name where there is no room for it; "" for the name itself, of which then a part is left out.
        values: what programs read in the cells, one for each; none where there is nothing but the cells.
        path: of the node that it is of; "" where it is of none, or of the root.
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
        """Return it as pages get it: of each column, by its key, what it says and what it is."""
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
        title: what the names are of; "" where that is plain.
        noun: the same of one name, never "".
        heads: the columns.
        entries: the rows.
        bar_rank: how soon the bars of the entries' shares are given up where there is no room; None for no bars.
        remark: what must be known to read it, in a sentence; "" where nothing must.
        narrower: the same in fewer columns, for where not all of these fit.
        folded: what stands for it where a view can fold it away until somebody asks; "" where it is to be seen.
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
class Nothing:
    """Says that there is no tree, and what to do."""

    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """One of a list."""

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
    """Lines without a title, the pieces of which stay whole.

    Attributes:
        lines: each piece by piece.
        tone: how they are drawn.
        mark: what stands before each; as "!" of warnings.
        is_apart: whether an empty line separates them from what is above.
    """

    lines: Sequence[Sequence[str]]
    tone: Tone = "plain"
    mark: str = ""
    is_apart: bool = True


@dataclass(frozen=True, slots=True)
class Losses:
    """What could not be recorded, piece by piece."""

    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """Something drawn with characters, all of them safe to show."""

    lines: Sequence[Sequence[tuple[str, Tone]]]


Part: TypeAlias = Heading | Table | Nothing | Listing | Lines | Losses | Picture
