"""The garbage collector: a row for each full collection, below what it interrupted.

The short ones, of young objects only, come a hundred times as often and are a few microseconds each: they are in the
causes of a loop's worst ticks, as all pauses are, and have no row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, is_inside
from ticktree.recorder.site import NO_SITE

NAME = "gc pause"

_OLDEST = 2


class _Pausing(threading.local):
    is_open = False


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    callback = _callback(recorder)
    module.callbacks.append(callback)
    patches.on_undo(lambda: module.callbacks.remove(callback) if callback in module.callbacks else None)


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


INSTRUMENT = Instrument("", hooks={"gc": _wrap})
