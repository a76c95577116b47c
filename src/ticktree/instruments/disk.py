"""Writes that wait for the disk: `os.fsync` and its kin, which stop a loop for as long as the disk takes.

They are no waits, which are no work of their tick: a tick that the disk makes late is missed.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder
from ticktree.recorder.site import NO_SITE


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    for name in ("fsync", "fdatasync", "sync"):
        if hasattr(module, name):  # not every system has all of them
            patches.section(module, name, recorder.timed_section(f"{module.__name__}.{name}", NO_SITE))


INSTRUMENT = Instrument("", hooks={"os": _wrap})
