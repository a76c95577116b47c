"""The garbage collector: a row for each full collection, below what it interrupted.

The short ones, of young objects only, come a hundred times as often and are a few microseconds each: they are in the
causes of a loop's worst ticks, as all pauses are, and have no row.
"""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

from ticktree.recorder import is_inside
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ticktree.recorder import Recorder

NAME = "gc pause"

_OLDEST = 2

_callbacks: list[Callable[[str, dict[str, int]], None]] = []


def install(recorder: Recorder) -> None:
    """Is told of collections."""
    callback = _callback(recorder)
    _callbacks.append(callback)
    gc.callbacks.append(callback)


def uninstall() -> None:
    """Is told no longer."""
    while _callbacks:
        callback = _callbacks.pop()
        if callback in gc.callbacks:
            gc.callbacks.remove(callback)


class _Pausing(threading.local):
    is_open = False


def _callback(recorder: Recorder) -> Callable[[str, dict[str, int]], None]:
    section = recorder.timed_section(NAME, NO_SITE)
    pausing = _Pausing()

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            # Where nothing is open it interrupts nothing that has a row: imports, mostly.
            if info.get("generation") == _OLDEST and is_inside(recorder):
                pausing.is_open = True
                section.__enter__()
        elif pausing.is_open:
            pausing.is_open = False
            section.__exit__(None, None, None)

    return note
