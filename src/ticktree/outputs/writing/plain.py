"""Plain tables, as hand-made summaries print them: a name, numbers at the right, and units above the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ticktree.outputs.writing.formatting import ABSENT
from ticktree.profile import Memory, Stats

_GAP = "  "

# The table of operations, each a row of `operation`.
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
    """Return an operation's cells: `total_ns` is that of all its calls, those that have not ended included."""
    times = (stats.mean_ns, stats.min_ns, stats.max_ns)
    peaks = [None if one is None else one.peak_bytes for one in (memory, device_memory)]
    return [
        name,
        str(stats.count),
        number(total_ns, 1e9, 3),
        *(number(ns, 1e9, 6) for ns in times),
        *(number(peak, 1e6, 1) for peak in peaks),
    ]


def number(amount: float | None, unit: float, digits: int) -> str:
    """Return an amount in units of so much, without their name; what was not measured is "-"."""
    return ABSENT if amount is None else f"{amount / unit:.{digits}f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = cells
    aligned = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
    return _GAP.join([name + " " * (widths[0] - cell_len(name)), *aligned])
