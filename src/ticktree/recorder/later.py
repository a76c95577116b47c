"""Pending device times, for callers that need not know whether any device is measured."""

from __future__ import annotations

import os
import sys
from types import ModuleType

# Set where the run waits for devices at both ends of a section, which changes the schedule.
SYNC_VARIABLE = "TICKTREE_DEVICE_SYNC"


def waits() -> bool:
    """Tell whether sections wait for their device in this run."""
    return os.environ.get(SYNC_VARIABLE, "") not in ("", "0")


def poll() -> None:
    """Book the device time that is known by now."""
    module = _loaded()
    if module is not None:
        module.poll()


def settle() -> None:
    """Book the device time that is known as recording ends, and count what is not."""
    module = _loaded()
    if module is not None:
        module.settle()


def unwatch() -> None:
    """Put back what was wrapped for it."""
    module = _loaded()
    if module is not None:
        module.unwatch()


def _loaded() -> ModuleType | None:
    """Most programs measure no device: then the module is not imported."""
    return sys.modules.get("ticktree.recorder.device_time.cuda")
