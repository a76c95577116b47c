"""Pending device times, for callers that need not know whether any device is measured."""

from __future__ import annotations

import os
import sys

# Set where the run waits for devices at both ends of a section, which changes the schedule.
SYNC_VARIABLE = "TICKTREE_DEVICE_SYNC"


def waits() -> bool:
    """Tell whether sections wait for their device in this run."""
    return os.environ.get(SYNC_VARIABLE, "") not in ("", "0")


def poll() -> None:
    """Book the device time that is known by now."""
    _call("poll")


def settle() -> None:
    """Book the device time that is known as recording ends, and count what is not."""
    _call("settle")


def unwatch() -> None:
    """Put back what was wrapped for it."""
    _call("unwatch")


def _call(name: str) -> None:
    """Most programs measure no device: then the module is not imported."""
    module = sys.modules.get("ticktree.recorder.device_time.cuda")
    if module is not None:
        getattr(module, name)()
