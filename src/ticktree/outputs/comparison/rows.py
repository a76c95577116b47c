"""Rows of a comparison: what the terminal's table and markdown's share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.comparison import Comparison, Difference, Entry, Verdict
from ticktree.outputs import formatting
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.visible import visible
from ticktree.profile import Stats
from ticktree.profile import path as paths

TITLES = (
    "verdict",
    "shift",
    "interval",
    "base",
    "new",
    "base min",
    "new min",
    "base max",
    "new max",
    "calls",
)
# How soon each is given up where there is no room.
RANKS = (0, 0, 1, 0, 0, 6, 6, 5, 5, 4)

_UNITS = {
    "runs": "Each run is one value",
    "pairs": "Each pair of runs is one value",
    "blocks": "One run a side: stretches of it are the values, and what differs from run to run is not seen",
}
_TELLING = ("slower", "faster", "only in base", "only in new")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    Attributes:
        name: safe to show; of a loop its path, of a node its name.
        cells: one for each of `TITLES`.
        verdict: what it says.
        guide: spaces in front of the name, as deep as the node lies.
        notes: what else is known.
    """

    name: str
    cells: Sequence[str]
    verdict: Verdict
    guide: str = ""
    notes: tuple[str, ...] = ()


def loop_rows(comparison: Comparison) -> list[Row]:
    """Return a row for each loop."""
    return [_row(entry, visible(entry.path), "") for entry in comparison.entries if entry.kind == "loop"]


def node_rows(comparison: Comparison, options: ViewOptions) -> list[Row]:
    """Return the nodes that say something, and those above them; all of them, if asked for."""
    nodes = [entry for entry in comparison.entries if entry.kind == "node"]
    shown = set()
    for entry in nodes:
        names = paths.split(entry.path)
        if options.all or len(names) == 1 or entry.verdict in _TELLING:
            shown |= {paths.join(names[:depth]) for depth in range(1, len(names) + 1)}
    rows = []
    for entry in nodes:
        if entry.path in shown:
            depth = len(paths.split(entry.path)) - 1
            rows.append(_row(entry, visible(paths.name_of(entry.path)) or '""', "  " * depth))
    return rows


def remarks(comparison: Comparison, options: ViewOptions) -> Iterator[str]:
    """Yield what must be known to read the table."""
    yield (
        f"{_UNITS[comparison.unit]}. A shift below {formatting.share(comparison.threshold)} is no difference; "
        "a verdict needs an interval on one side of it, and all of them together are wrong in 5% of comparisons."
    )
    hidden = sum(entry.kind == "node" for entry in comparison.entries) - len(node_rows(comparison, options))
    if hidden:
        yield f"{formatting.counted(hidden, 'section')} without a clear difference not shown; --all shows them."
    if any(entry.verdict == "cannot tell" for entry in comparison.entries):
        yield "What cannot be told needs more runs, or longer ones: `ticktree ab` makes pairs until it can."


def difference_lines(differences: Sequence[Difference]) -> list[str]:
    """Return each fact that the sides do not share, as one line."""
    return [
        f"{visible(difference.key)}: {visible(difference.base) or '-'} -> {visible(difference.new) or '-'}"
        for difference in differences
    ]


def _row(entry: Entry, name: str, guide: str) -> Row:
    cells = (entry.verdict, *_shift(entry), *_times(entry), _calls(entry))
    notes = (f"like {visible(entry.renamed)}: renamed?",) if entry.renamed else ()
    return Row(name, cells, entry.verdict, guide, notes)


def _shift(entry: Entry) -> tuple[str, str]:
    if entry.shift is None:
        return "", ""
    if not math.isfinite(entry.shift.high):
        return signed(entry.shift.estimate), "too few values"
    return signed(entry.shift.estimate), f"{signed(entry.shift.low)} to {signed(entry.shift.high)}"


def signed(part: float) -> str:
    """Return a shift as a percentage with its sign, such as "+1.7%"."""
    percent = 100 * part
    digits = 0 if abs(percent) >= 99.5 else 1
    text = f"{percent:+.{digits}f}%"
    return text.replace("+0.0%", "0.0%").replace("-0.0%", "0.0%")


def _times(entry: Entry) -> Iterator[str]:
    for name in ("mean_ns", "min_ns", "max_ns"):
        for stats in (entry.base, entry.new):
            yield formatting.time(getattr(stats, name))


def _calls(entry: Entry) -> str:
    base, new = entry.base.count, entry.new.count
    return formatting.count(base) if base == new else f"{_count(entry.base)} / {_count(entry.new)}"


def _count(stats: Stats) -> str:
    return formatting.count(stats.count)
