"""The summary: a row for each operation, wherever it was called."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.compat.operation import Operation
from ticktree.compat.table import table
from ticktree.profile import Memory

_HEADS = ("Operation", "Calls", "Total(s)", "Avg(s)", "Min(s)", "Max(s)", "Mem Peak(MB)", "GPU Peak(MB)")
_ABSENT = "-"


def summary(operations: Iterable[Operation]) -> str:
    """Return the table of operations, in the order in which they come."""
    return "\n".join(["PROFILING SUMMARY:", *table(_HEADS, [_row(one) for one in operations])])


def _row(one: Operation) -> list[str]:
    stats = one.stats
    times = (stats.sum_ns, stats.mean_ns, stats.min_ns, stats.max_ns)
    return [
        one.name,
        str(stats.count),
        *(_ABSENT if ns is None else f"{ns / 1e9:.{3 if at == 0 else 6}f}" for at, ns in enumerate(times)),
        _peak(one.memory),
        _peak(one.device_memory),
    ]


def _peak(memory: Memory | None) -> str:
    return _ABSENT if memory is None else f"{memory.peak_bytes / 1e6:.1f}"
