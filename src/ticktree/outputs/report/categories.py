"""What sorts of work a loop's time goes to, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.bottlenecks import CategoryShare, category_shares
from ticktree.analysis.loops import LoopView
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.bottlenecks import of
from ticktree.outputs.writing import columns, formatting
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.visible import visible

# What takes less of a tick is not shown by itself, unless all is asked for.
LEAST_SHARE = 0.01
_BAR_RANK = 2


def categories(view: LoopView, options: ViewOptions) -> Table | None:
    """Return the time of a loop, or of the run, by category; None where it is all of one."""
    found = category_shares(view)
    large = [one for one in found if options.all or one.share >= LEAST_SHARE]
    small = [one for one in found if one not in large]
    if len(small) == 1:
        large, small = found, []
    if sum(one.share >= LEAST_SHARE for one in found) < 2:
        return None
    entries = [_entry(one) for one in large] + ([_folded(small)] if small else [])
    heads = [column.head for column in columns.CATEGORIES]
    title = f"{of(view)} by category"
    return Table(title, title, heads, entries, bar_rank=_BAR_RANK)


def _entry(one: CategoryShare) -> Entry:
    tone: Tone = "wait" if one.name == "waiting" else "plain"
    cells = [column.text(one) for column in columns.CATEGORIES]
    return Entry(visible(one.name), cells, tone=tone, share=one.share)


def _folded(small: Sequence[CategoryShare]) -> Entry:
    share, ns = sum(one.share for one in small), sum(one.ns for one in small)
    together = CategoryShare("", ns, share, sum(one.sections for one in small))
    cells = [column.text(together) for column in columns.CATEGORIES]
    return Entry(f"{formatting.count(len(small))} smaller", cells, tone="faint", share=share)
