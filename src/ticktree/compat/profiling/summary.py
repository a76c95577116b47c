"""The summary: a row for each operation, wherever it was called."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.compat.operation import Operation
from ticktree.compat.table import table
from ticktree.outputs.writing.plain import OPERATIONS, operation


def summary(operations: Iterable[Operation]) -> str:
    """Return the table of operations, in the order in which they come."""
    rows = [
        operation(one.name, one.stats, one.stats.sum_ns, one.memory, one.device_memory) for one in operations
    ]
    return "\n".join(["PROFILING SUMMARY:", *table(OPERATIONS, rows)])
