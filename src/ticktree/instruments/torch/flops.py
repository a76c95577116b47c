"""Floating-point operations of forward and backward passes, by torch's own counter; on demand, as it is slow."""

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

# Calls a function and adds its operations to a section's work; None if counting was not requested.
counter: Callable[..., Any] | None = None

_listeners: list[Callable[[], None]] = []


def add_listener(listener: Callable[[], None]) -> None:
    """Call a listener now, and whenever counting begins or ends."""
    _listeners.append(listener)
    listener()


def remove_listeners() -> None:
    """Remove the listeners: their instruments have been uninstalled."""
    _listeners.clear()


def call(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function; if operations are counted, add them to the section's work."""
    if counter is None:
        return function(*args, **kwargs)
    return counter(section, function, *args, **kwargs)


class _CounterThread(threading.local):
    is_counting = False


def _set_counter(new_counter: Callable[..., Any] | None) -> None:
    global counter
    counter = new_counter
    for listener in _listeners:
        listener()


def _wrap(patches: Patches, _torch: ModuleType, _: Recorder) -> None:
    """Count, if `torch` is installed too: the work belongs to its rows."""
    thread = _CounterThread()
    mode_type: Any = None

    def count(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        nonlocal mode_type
        if thread.is_counting:  # the outer call counts inner ones too
            return function(*args, **kwargs)
        if mode_type is None:
            mode_type = import_module("torch.utils.flop_counter").FlopCounterMode
        thread.is_counting = True
        try:
            with mode_type(display=False) as mode:
                result = function(*args, **kwargs)
            section.work(flops=mode.get_total_flops())
            return result
        finally:
            thread.is_counting = False

    _set_counter(count)
    patches.on_undo(lambda: _set_counter(None))


INSTRUMENT = Instrument("torch", tested=TESTED, hooks={"torch": _wrap})
