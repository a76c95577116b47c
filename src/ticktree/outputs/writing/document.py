"""What a view consists of, before anything draws it: a heading, tables, advice, and what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.analysis import Finding
from ticktree.outputs.writing.columns import Head

# How an entry speaks: as any other, as one to begin with, of waiting, of what is no section, of what was left
# out, of something wrong, of something better.
Tone: TypeAlias = Literal["plain", "strong", "wait", "quiet", "faint", "alarm", "good"]


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


@dataclass(frozen=True, slots=True)
class Nothing:
    """Says that there is no tree, and what to do."""

    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What follows from the numbers, the most important first.

    Attributes:
        findings: those that are shown.
        more: how many there are beside them.
    """

    findings: Sequence[Finding]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Dismissed:
    """What is not worth doing, each in a sentence that is safe to show."""

    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class Losses:
    """What could not be recorded, piece by piece."""

    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """Something drawn with characters, all of them safe to show.

    Attributes:
        lines: top to bottom, each in pieces that speak in their own tone.
    """

    lines: Sequence[Sequence[tuple[str, Tone]]]


Part: TypeAlias = Heading | Table | Nothing | Advice | Dismissed | Losses | Picture
