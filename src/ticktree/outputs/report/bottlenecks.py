"""The bottlenecks as tables: of each loop that matters, where its time goes, and how fast it could be without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.loops import LoopView
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import columns, formatting
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.visible import visible

SHOWN = 5
# Of what runs beside a loop: enough to see that it does.
BESIDE_SHOWN = 2
# What takes less of a tick is shown only where all is asked for.
LEAST_SHARE = 0.001
_BAR_RANK = 6


def bottlenecks(seen: Survey, view: LoopView, options: ViewOptions) -> Table | None:
    """Return what the time of a loop, or of the run, goes to, the dearest first; None where it is all of one."""
    found = [one for one in seen.bottlenecks if one.view is view]
    on_path = [one for one in found if not one.section.is_parallel]
    beside = [one for one in found if one.section.is_parallel]
    if sum(one.share >= LEAST_SHARE for one in on_path) < 2:
        return None
    shown = _shown(on_path, options)
    entries = [_entry(one) for one in shown]
    if len(shown) < len(on_path):
        entries.append(_folded(on_path[len(shown) :]))
    entries += [_entry(one) for one in (beside if options.all else beside[:BESIDE_SHOWN])]
    heads = [column.head for column in columns.BOTTLENECKS if _has_any(column, entries)]
    kept = [at for at, column in enumerate(columns.BOTTLENECKS) if column.head in heads]
    title = f"bottlenecks of {of(view)}"
    return Table(
        title=title,
        noun=title,
        heads=heads,
        entries=[_with(entry, kept) for entry in entries],
        bar_rank=_BAR_RANK,
        remark=slack(view),
    )


def _shown(on_path: Sequence[Bottleneck], options: ViewOptions) -> Sequence[Bottleneck]:
    if options.all:
        return on_path
    large = [one for one in on_path if one.share >= LEAST_SHARE]
    count = len(large) if len(large) <= SHOWN + 1 else SHOWN
    # One row that is folded is no shorter than itself.
    return on_path if len(on_path) == count + 1 else large[:count]


def of(view: LoopView) -> str:
    """Return what a table is of."""
    return visible(view.name) if view.loop else "the run"


def _entry(one: Bottleneck) -> Entry:
    tone: Tone = "wait" if one.section.is_wait else "faint" if one.section.is_parallel else "plain"
    return Entry(
        name=visible(one.view.name_of(one.section)) if one.section.path else "outside all sections",
        cells=[column.text(one) for column in columns.BOTTLENECKS],
        tone=tone,
        mark=_mark(one),
        share=None if one.section.is_parallel else one.share,
    )


def _mark(one: Bottleneck) -> str:
    if one.section.is_slack:
        return "slack"
    if one.section.is_parallel:
        return "beside"
    if one.section.is_wait:
        return "wait"
    if one.section.is_loop:
        return "loop"
    return "own" if one.section.has_sections and one.section.path else ""


def _folded(rest: Sequence[Bottleneck]) -> Entry:
    share = sum(one.share for one in rest)
    cells = {"share": formatting.share(share)}
    return Entry(
        name=f"{len(rest)} smaller",
        cells=[cells.get(column.title, "") for column in columns.BOTTLENECKS],
        tone="faint",
        share=share,
    )


def _has_any(column: columns.Column[Bottleneck], entries: Sequence[Entry]) -> bool:
    """Tell whether a column that is not of every profile has anything in it."""
    at = columns.BOTTLENECKS.index(column)
    return not column.optional or any(entry.cells[at] not in ("", formatting.ABSENT) for entry in entries)


def _with(entry: Entry, kept: Sequence[int]) -> Entry:
    return replace(entry, cells=[entry.cells[at] for at in kept])


def slack(view: LoopView) -> str:
    """Return what must be known of the rates of a loop that sleeps to hold its own; "" of any other."""
    if view.loop is None or view.slack_ns <= 0:
        return ""
    rates = " or ".join(map(formatting.hertz, sorted(view.loop.hz)))
    share = formatting.share(view.slack_ns / view.tick_ns)
    return f"The loop sleeps {share} of its time to hold {rates}; the rates are those it could go at without."
