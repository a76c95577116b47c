"""ReportView: the content of a report, in reading order. Outputs only render it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import (
    EmptyNotice,
    Heading,
    Item,
    Lines,
    Listing,
    PageFields,
    Part,
    Table,
)
from ticktree.outputs.writing.visible import visible

SCHEMA = "ticktree-view/1"


@dataclass(frozen=True, slots=True)
class Fact(PageFields):
    """A fact about the run as a whole, safe to show."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Headline(PageFields):
    """One loop, or the run, in one line: its speed, or whether it holds its target rate."""

    path: str
    name: str
    pieces: Sequence[str]
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class MeasurementWarning(PageFields):
    """A reason to doubt the numbers, or a loss.

    Attributes:
        text: the sentence, safe to show.
        rule: the rule that found it; "" for losses.
        evidence: the measured facts, piece by piece.
    """

    text: str
    rule: str = ""
    evidence: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Recommendation(PageFields):
    """What to do, and what it saves.

    Attributes:
        rule: the rule that found it.
        severity: how much it saves.
        kind: a recommendation, or a section that is merely large.
        path: of the node that it is about.
        loop: path of the loop that gains; "" for the run.
        gain: the saving in the loop's currency; "" if unknown.
        share: the saving as a share of the tick, or of the run; None if unknown.
        text: the sentence, safe to show.
        where: the section, as people read it.
        evidence: the measured facts, piece by piece.
    """

    rule: str
    severity: str
    kind: str
    path: str
    loop: str
    gain: str
    share: float | None
    text: str
    where: str
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class LoopPart(PageFields):
    """Where the time of a loop's mean tick goes, or that of the run.

    Attributes:
        path: of the loop; "" for the run.
        self_times: by section, the largest first; None if there is only one section.
        dismissed: sections that are not worth optimizing, each with its maximum gain.
        tree: the mean tick as a tree.
    """

    path: str
    self_times: Table | None
    dismissed: Sequence[str]
    tree: Table | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView(PageFields):
    """The content of a report, in reading order.

    Attributes:
        title: the name of the run.
        provenance: what ran, when, where and with what.
        headlines: the main loop, or the run; with `--all`, every loop.
        warnings: reasons to doubt the numbers, and losses.
        recommendations: what to do, the most important first.
        more: number of findings that are not shown.
        loops: one row per loop, in the order of the loop model; None if there is none.
        parts: where the time goes, loop by loop in the same order.
        tables: further tables: roles, waits, the critical path, gauges.
        nothing: what to do if nothing was recorded; "" if something was.
        closing: how to see the rest, line by line.
    """

    title: str
    provenance: Sequence[Fact] = ()
    headlines: Sequence[Headline] = ()
    warnings: Sequence[MeasurementWarning] = ()
    recommendations: Sequence[Recommendation] = ()
    more: int = 0
    loops: Table | None = None
    parts: Sequence[LoopPart] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    nothing: str = ""
    closing: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {"schema": SCHEMA, **PageFields.to_dict(self)}


def report_parts(view: ReportView) -> Iterator[Part]:
    """Yield the parts of a report: what ran, the answer, and then its reasons."""
    yield Heading(view.title, [fact.text for fact in view.provenance])
    for headline in view.headlines:
        lines = [[headline.name, *headline.pieces]]
        yield Lines(lines, "alarm" if headline.is_missed else "strong", is_apart=False)
    if view.warnings:
        texts = [(doubt.text, f" ({visible(doubt.rule)})" if doubt.rule else "") for doubt in view.warnings]
        yield Lines([["".join(text)] for text in texts], "warning", mark="!  ", is_apart=False)
    if view.nothing:
        yield EmptyNotice(view.nothing)
    more = f"{formatting.counted(view.more, 'more finding')}" if view.more else ""
    for title, is_size in (("Recommendations", False), ("Large sections", True)):
        items = [
            Item(entry.text, entry.gain, [*filter(None, (entry.where, visible(entry.rule), *entry.evidence))])
            for entry in view.recommendations
            if (entry.kind == "size") is is_size
        ]
        if items:
            yield Listing(title, items, "" if is_size else more)
    if view.loops is not None:
        yield view.loops
    for part in view.parts:
        yield from _loop_parts(part)
    yield from view.tables
    if view.closing:
        yield Lines([[line] for line in view.closing], "faint")


def _loop_parts(part: LoopPart) -> Iterator[Part]:
    if part.self_times is not None:
        yield part.self_times
    if part.dismissed:
        yield Lines([[f"Not worth optimizing: {', '.join(part.dismissed)}"]], "faint", is_apart=False)
    if part.tree is not None:
        yield replace(part.tree, folded=part.tree.title)
