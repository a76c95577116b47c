"""The parts of a report, in the order in which they are read. Every output for people draws these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ticktree.outputs.view.model import LoopPart, Recommendation, ReportView, Warned
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Heading, Item, Lines, Listing, Nothing, Part
from ticktree.outputs.writing.visible import visible


def parts_of(view: ReportView) -> Iterator[Part]:
    """Yield what there is to show: what was run, the answer, and then where it comes from."""
    yield Heading(view.title, [fact.text for fact in view.provenance])
    for headline in view.headlines:
        lines = [[headline.name, *headline.pieces]]
        yield Lines(lines, "alarm" if headline.is_missed else "strong", is_apart=False)
    if view.warnings:
        yield Lines([[_warning(each)] for each in view.warnings], "warning", mark="!  ", is_apart=False)
    if view.nothing:
        yield Nothing(view.nothing)
    if view.recommendations:
        more = f"{formatting.counted(view.more, 'more finding')}" if view.more else ""
        yield Listing("Recommendations", [_item(each) for each in view.recommendations], more)
    if view.loops is not None:
        yield view.loops
    for part in view.parts:
        yield from _where(part)
    yield from view.tables
    if view.closing:
        yield Lines([[line] for line in view.closing], "faint")


def _warning(each: Warned) -> str:
    return f"{each.text} ({visible(each.rule)})" if each.rule else each.text


def _item(each: Recommendation) -> Item:
    about = [piece for piece in (each.where, visible(each.rule), *each.evidence) if piece]
    return Item(each.text, each.gain, about)


def _where(part: LoopPart) -> Iterator[Part]:
    if part.self_times is not None:
        yield part.self_times
    if part.dismissed:
        yield Lines([[f"Not worth optimizing: {', '.join(part.dismissed)}"]], "faint", is_apart=False)
    if part.tree is not None:
        yield replace(part.tree, folded=part.tree.title)
