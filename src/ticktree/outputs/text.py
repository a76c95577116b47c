"""Plain tables in the style of hand-made summaries: a name, right-aligned numbers, and units above the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from ticktree.analysis.context import Context
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.build import report_view
from ticktree.outputs.view.model import ReportView
from ticktree.outputs.writing.document import Entry, Head, Table, Value
from ticktree.outputs.writing.formatting import ABSENT
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Memory, Profile, Stats
from ticktree.profile import path as paths

_GAP = "  "

# The table of operations; `operation` makes its rows.
OPERATIONS = ("Operation", "Calls", "Total(s)", "Avg(s)", "Min(s)", "Max(s)", "Mem Peak(MB)", "GPU Peak(MB)")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines: the heads between two rules, then the rows."""
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    yield from (rule, _line(heads, widths), rule)
    for row in rows:
        yield _line(row, widths)


def operation(
    name: str, stats: Stats, total_ns: int, memory: Memory | None, device_memory: Memory | None
) -> list[str]:
    """Return an operation's cells; `total_ns` is of all its calls, including those that have not ended."""
    times = [number(ns, 1e9, 6) for ns in (stats.mean_ns, stats.min_ns, stats.max_ns)]
    peaks = [number(usage.peak_bytes if usage else None, 1e6, 1) for usage in (memory, device_memory)]
    return [name, str(stats.count), number(total_ns, 1e9, 3), *times, *peaks]


def number(amount: float | None, unit: float, digits: int) -> str:
    """Return an amount as a number of units, without the unit; "-" if it was not measured."""
    return ABSENT if amount is None else f"{amount / unit:.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = cells
    aligned = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
    return _GAP.join([name + " " * (widths[0] - cell_len(name)), *aligned])


NAME_CELLS = 60

# By unit: its name above the column, its size, and its number of decimals.
_UNITS: dict[str, tuple[str, float, int]] = {
    "ns": ("(ms)", 1e6, 3),
    "share": ("(%)", 0.01, 1),
    "bytes": ("(MB)", 1e6, 1),
    "hz": ("(Hz)", 1.0, 3),
    "score": ("", 1.0, 1),
    "factor": ("(x)", 1.0, 3),
    "reading": ("", 1.0, 3),
    "count": ("", 1.0, 0),
}


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the report as UTF-8, with "-" for values that were not measured."""
    view = report_view(Context(profile, options.settings), replace(options, all=True))
    return "\n".join(_lines(view)).encode() + b"\n"


def _lines(view: ReportView) -> Iterator[str]:
    yield view.title
    yield from (fact.text for fact in view.provenance)
    yield from (f"{item.name}: {', '.join(item.pieces)}" for item in view.headlines)
    if view.nothing:
        yield from ("", view.nothing)
    if view.warnings:
        yield from ("", "WARNINGS:", *(item.text for item in view.warnings))
    if view.recommendations:
        yield from ("", "RECOMMENDATIONS:")
    for item in view.recommendations:
        gain = f"{' '.join(item.gain.split())}: " if item.gain else ""
        yield f"{item.severity.upper()}: {gain}{item.text} (rule: {visible(item.rule)})"
    yield from _table(view.loops)
    for part in view.parts:
        yield from _table(part.self_times)
        if part.dismissed:
            yield from ("", f"NOT WORTH OPTIMIZING: {', '.join(part.dismissed)}")
        yield from _table(part.tree)
    for table in view.tables:
        yield from _table(table)


def _table(part: Table | None) -> Iterator[str]:
    """Yield a table in plain numbers; trees have each row's path instead of tree lines."""
    if part is None:
        return
    yield from ("", f"{part.title.upper()}:")
    titles = (f"{head.title}{_UNITS.get(head.unit, ('',))[0]}" for head in part.heads)
    heads = [title.replace(" ", "_") for title in (part.noun.capitalize(), *titles)]
    is_tree = any(entry.guide for entry in part.entries)
    rows = []
    for entry in part.entries:
        cells = zip(part.heads, entry.values, entry.cells, strict=True)
        rows.append([_name(entry, is_tree), *(_cell(*cell) for cell in cells)])
    yield from table(heads, rows)


def _name(entry: Entry, is_tree: bool) -> str:
    if not is_tree or not entry.path:
        return cut(entry.name, NAME_CELLS)
    path = visible(paths.display_text(entry.path))
    return cut(f"{path}/{entry.name}" if entry.name == "[self]" else path, NAME_CELLS)


def _cell(head: Head, value: Value, cell: str) -> str:
    if head.words or isinstance(value, str):
        return cell.replace(" ", "_") or ABSENT
    _, unit, digits = _UNITS[head.unit]
    return number(value, unit, digits)
