"""Floating-point operations of forward and backward passes, by torch's own counter; on demand, for it is dear."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

# Calls a function and adds what it did to a section's work; None where nobody asked.
count: Callable[..., Any] | None = None

_patches = Patches()


class _Counting(threading.local):
    now = False


def install(_: Recorder) -> None:
    """Counts from when torch is imported, where `torch` is installed too: the work is of its rows."""
    _patches.watch("torch", _begin)


def uninstall() -> None:
    """Counts no more."""
    global count
    count = None
    _patches.undo()


def _begin(_: ModuleType) -> None:
    global count
    counting = _Counting()
    counter: Any = None

    def counted(section: Section, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal counter
        if counting.now:  # what is inside is counted with what is around
            return function(*args, **kwargs)
        if counter is None:
            counter = import_module("torch.utils.flop_counter").FlopCounterMode
        counting.now = True
        try:
            with counter(display=False) as mode:
                result = function(*args, **kwargs)
            section.work(flops=mode.get_total_flops())
            return result
        finally:
            counting.now = False

    count = counted
