"""The timers of the ML-Agents toolkit, recorded by ticktree: in place of its `mlagents_envs.timers`.

Tests replace `_global_timer_stack`, as its older releases have it, or `_get_thread_timer`, as its newer ones have it:
everything here looks them up when it is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ticktree.compat.common import timed_on
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
    """The stack that is used where none is given."""
    return globals().get("_global_timer_stack") or threads.here()


def get_timer_stack_for_thread(t: threading.Thread) -> TimerStack | None:
    """Return the stack of a thread, for the program to merge into its own; None if it never used a timer.

    The thread is then left out of the main thread's tree, where it would be shown otherwise.
    """
    return threads.of(t)


def hierarchical_timer(name: str, timer_stack: TimerStack | None = None) -> Timer:
    """Time a block of code, or, as a decorator, a function.

    Args:
        name: The timer's name.
        timer_stack: What records; by default the thread's own stack.
    """
    return (timer_stack or _get_thread_timer()).timers[name]


def timed(func: Function) -> Function:
    """Make a function a timer of its qualified name.

    Coroutines are timed from entry to exit, generators while they run.
    """
    wrapped: Function = timed_on(lambda: _get_thread_timer().recorder, func)
    return wrapped


def set_gauge(name: str, value: float, timer_stack: TimerStack | None = None) -> None:
    """Add a reading to a gauge; one that is no finite number is left out."""
    (timer_stack or _get_thread_timer()).set_gauge(name, value)


def merge_gauges(gauges: Mapping[str, GaugeNode], timer_stack: TimerStack | None = None) -> None:
    """Add the gauges of another stack."""
    merge_into((timer_stack or _get_thread_timer()).gauges, gauges)


def add_metadata(key: str, value: str, timer_stack: TimerStack | None = None) -> None:
    """Note something about the program."""
    (timer_stack or _get_thread_timer()).add_metadata(key, value)


def get_timer_tree(timer_stack: TimerStack | None = None) -> dict[str, Any]:
    """Return the tree by now, with gauges and metadata, to be written as JSON."""
    return (timer_stack or _get_thread_timer()).get_timing_tree()


def get_timer_root(timer_stack: TimerStack | None = None) -> TimerNode:
    """Return the tree by now, to be merged or sent to another process."""
    return (timer_stack or _get_thread_timer()).get_root()


def reset_timers(timer_stack: TimerStack | None = None) -> None:
    """Forget the timers, gauges and metadata; open timers begin again now."""
    (timer_stack or _get_thread_timer()).reset()
