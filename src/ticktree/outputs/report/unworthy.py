"""What is not worth doing, in words that are safe to show."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.bottlenecks import MOST, Unworthy, not_worth_doing
from ticktree.analysis.loops import LoopView
from ticktree.outputs.report.bottlenecks import of
from ticktree.outputs.writing.document import Dismissed
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible

# Of a line of text: call trees name sections by expressions, one below the other.
NAME_CELLS = 80


def unworthy(views: Sequence[LoopView]) -> Dismissed:
    """Return the sections of these loops that would be suspected and are not worth it: at most three."""
    found = [one for view in views for one in not_worth_doing(view)]
    return Dismissed([_said(one) for one in found[:MOST]])


def _said(one: Unworthy) -> str:
    name = cut(visible(one.view.name_of(one.section)), NAME_CELLS)
    return f"{name}: even if it were free, {of(one.view)} would be {one.saving.speedup:.3f} x as fast"
