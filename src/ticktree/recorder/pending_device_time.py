"""Pending device times, for callers that do not know whether any device is measured."""

from __future__ import annotations

import os
import sys

# Set if the run waits for devices at both ends of a section, which changes the schedule.
SYNC_VARIABLE = "TICKTREE_DEVICE_SYNC"


def waits_for_devices() -> bool:
    """Return whether sections wait for their device in this run."""
    return os.environ.get(SYNC_VARIABLE, "") not in ("", "0")


def poll() -> None:
    """Book the device time that is known by now."""
    _call("poll")


def settle() -> None:
    """At the end of recording, book the device time that is known, and count what is not."""
    _call("settle")


def unwrap_libraries() -> None:
    """Undo the wrapping of libraries."""
    _call("unwatch")


def _call(name: str) -> None:
    """Call a function of the device module, unless it was not imported: most programs measure no device."""
    module = sys.modules.get("ticktree.recorder.device_time.cuda")
    if module is not None:
        getattr(module, name)()
