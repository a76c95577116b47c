"""Profiling helpers for robot policies, recorded by ticktree: in place of a project's `lerobot.utils.profiling`.

`CycleTimer` stands in for `lerobot.utils.cycle_timer.CycleTimer`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar

from ticktree.compat.common import Operation, Switch
from ticktree.compat.lerobot.cycle_timer import CycleTimer
from ticktree.session import current

__all__ = [
    "CycleTimer",
    "clear_profiling_stats",
    "disable_profiling",
    "enable_profiling",
    "get_profiling_stats",
    "is_profiling_enabled",
    "print_profiling_summary",
    "profile_method",
    "profile_section",
    "record_timing",
]

Function = TypeVar("Function", bound=Callable[..., Any])
SortKey = Literal["total", "mean", "count", "max", "min"]

_COLUMNS = ("Function", "Count", "Mean (ms)", "Min (ms)", "Max (ms)", "Total (s)")

_switch = Switch()


def enable_profiling() -> None:
    """Record from now on. Under `ticktree run` it is enabled from the start."""
    _switch.enable()


def disable_profiling() -> None:
    """Stop to record through these functions; recorded data stays."""
    _switch.disable()


def is_profiling_enabled() -> bool:
    """Tell whether these functions record."""
    return _switch.recorder is not None


def profile_method(func: Function) -> Function:
    """Make a function or method a section named by its module and its qualified name.

    Coroutines are timed from entry to exit, generators while they run. While disabled, the function is only called.
    """
    function = func.__func__ if isinstance(func, (staticmethod, classmethod)) else func
    name = f"{getattr(function, '__module__', None)}.{getattr(function, '__qualname__', repr(function))}"
    return _switch.function(func, name)


def profile_section(name: str) -> AbstractContextManager[Any]:
    """Return a context manager that times a block. This call decides whether it records."""
    return _switch.section(name)


def record_timing(name: str, duration: float) -> None:
    """Add a duration that was measured elsewhere.

    Args:
        name: The section.
        duration: In seconds.
    """
    recorder = _switch.recorder
    if recorder is not None:
        _switch.names.add(name)
        recorder.record_duration(name, duration)


def get_profiling_stats() -> dict[str, dict[str, float]]:
    """Return count, mean, min, max and total of each name, in seconds; mean, min and max in ms as well."""
    return {name: _to_seconds(operation) for name, operation in _switch.operations().items()}


def clear_profiling_stats() -> None:
    """Reset the program's one recording, other sections included. Open calls begin again now."""
    current.recorder.reset()


def print_profiling_summary(sort_by: SortKey = "total") -> None:
    """Print a table of all names to standard error.

    Args:
        sort_by: The column whose largest number comes first.
    """
    from ticktree.compat.common import table  # here, because it is slow to import

    stats = get_profiling_stats()
    if not stats:
        status = (
            "is on, and nothing was called yet" if is_profiling_enabled() else "is off: enable_profiling()"
        )
        print(f"No profiling data: profiling {status}", file=sys.stderr)
        return
    sorted_stats = sorted(stats.items(), key=lambda item: -item[1].get(sort_by, 0.0))
    rows = [
        [
            name,
            str(numbers["count"]),
            *(f"{numbers[key]:.2f}" for key in ("mean_ms", "min_ms", "max_ms", "total")),
        ]
        for name, numbers in sorted_stats
    ]
    total_s, calls = (sum(numbers[key] for numbers in stats.values()) for key in ("total", "count"))
    status = f"Total profiled time: {total_s:.2f} s across {calls} calls (calls within calls count in both)"
    print("\n".join(["PROFILING SUMMARY", *table(_COLUMNS, rows), status]), file=sys.stderr)


def _to_seconds(operation: Operation) -> dict[str, float]:
    stats = operation.stats
    times = {"mean": stats.mean_ns, "min": stats.min_ns, "max": stats.max_ns}
    known_ns = {key: ns for key, ns in times.items() if ns is not None}
    return {
        "count": stats.count,
        **{key: ns / 1e9 for key, ns in known_ns.items()},
        "total": stats.sum_ns / 1e9,
        **{f"{key}_ms": ns / 1e6 for key, ns in known_ns.items()},
    }
