"""The timers of the ML-Agents toolkit, recorded by ticktree: a replacement for its `mlagents_envs.timers`.

Tests of programs replace `_global_timer_stack` (older releases) or `_get_thread_timer` (newer releases), so all
functions here look them up when they are called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ticktree.compat.common import timed_with
from ticktree.compat.mlagents.nodes import GaugeNode, TimerNode, merge_into
from ticktree.compat.mlagents.stack import TIMER_FORMAT_VERSION, TimerStack, threads
from ticktree.compat.mlagents.timers import Timer

__all__ = [
    "TIMER_FORMAT_VERSION",
    "GaugeNode",
    "TimerNode",
    "TimerStack",
    "add_metadata",
    "get_timer_root",
    "get_timer_stack_for_thread",
    "get_timer_tree",
    "hierarchical_timer",
    "merge_gauges",
    "reset_timers",
    "set_gauge",
    "timed",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def __getattr__(name: str) -> TimerStack:
    """Older releases have one stack for all threads, and tests replace it; unless they do, each thread has its own."""
    if name == "_global_timer_stack":
        return _get_thread_timer()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _get_thread_timer() -> TimerStack:
    """Return the default stack."""
    return globals().get("_global_timer_stack") or threads.here()


def get_timer_stack_for_thread(t: threading.Thread) -> TimerStack | None:
    """Return the stack of a thread, for the program to merge; None if it never used a timer.

    After that the main thread's tree does not contain the thread any more.
    """
    return threads.of(t)


def hierarchical_timer(name: str, timer_stack: TimerStack | None = None) -> Timer:
    """Time a block of code, or, as a decorator, a function.

    Args:
        name: The timer's name.
        timer_stack: The stack that records; by default the thread's.
    """
    return (timer_stack or _get_thread_timer()).timers[name]


def timed(func: Function) -> Function:
    """Make a function a timer named by its qualified name.

    Coroutines are timed from entry to exit, generators while they run.
    """
    timer_function: Function = timed_with(lambda: _get_thread_timer().recorder, func)
    return timer_function


def set_gauge(name: str, value: float, timer_stack: TimerStack | None = None) -> None:
    """Add a reading to a gauge; readings that are not finite are left out."""
    (timer_stack or _get_thread_timer()).set_gauge(name, value)


def merge_gauges(gauges: Mapping[str, GaugeNode], timer_stack: TimerStack | None = None) -> None:
    """Add the gauges of another stack."""
    merge_into((timer_stack or _get_thread_timer()).gauges, gauges)


def add_metadata(key: str, value: str, timer_stack: TimerStack | None = None) -> None:
    """Add a fact about the program."""
    (timer_stack or _get_thread_timer()).add_metadata(key, value)


def get_timer_tree(timer_stack: TimerStack | None = None) -> dict[str, Any]:
    """Return the current tree, with gauges and metadata, as a JSON object."""
    return (timer_stack or _get_thread_timer()).get_timing_tree()


def get_timer_root(timer_stack: TimerStack | None = None) -> TimerNode:
    """Return the current tree, to merge it or to send it to another process."""
    return (timer_stack or _get_thread_timer()).get_root()


def reset_timers(timer_stack: TimerStack | None = None) -> None:
    """Reset the timers, gauges and metadata; open timers begin again now."""
    (timer_stack or _get_thread_timer()).reset()
