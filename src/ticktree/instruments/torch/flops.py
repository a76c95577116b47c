"""Floating-point operations of forward and backward passes, by torch's own counter; on demand, for it is dear."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch.sections import TESTED
from ticktree.recorder import Recorder, Section

# Calls a function and adds what it did to a section's work; None where it was not requested.
count: Callable[..., Any] | None = None

_listeners: list[Callable[[], None]] = []


def listen(changed: Callable[[], None]) -> None:
    """Calls it now, and whenever counting begins or ends; until `forget`."""
    _listeners.append(changed)
    changed()


def forget() -> None:
    """Forget the listeners: their instruments have been taken back."""
    _listeners.clear()


def counted(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function; where operations are counted, add them to the section's work."""
    if count is None:
        return function(*args, **kwargs)
    return count(section, function, *args, **kwargs)


class _Counting(threading.local):
    now = False


def _set(counting: Callable[..., Any] | None) -> None:
    global count
    count = counting
    for changed in _listeners:
        changed()


def _wrap(patches: Patches, _torch: ModuleType, _: Recorder) -> None:
    """Counts where `torch` is installed too: the work is of its rows."""
    counting = _Counting()
    counter: Any = None

    def count_one(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
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

    _set(count_one)
    patches.on_undo(lambda: _set(None))


INSTRUMENT = Instrument("torch", tested=TESTED, hooks={"torch": _wrap})
