"""The profiled program's own session: from `enable()` to its run on disk.

Everything here runs inside a user's program, so nothing here may stop it: an error is printed once,
and recording continues in private memory or not at all. What is slow to import is imported when it is needed.
"""

from __future__ import annotations

from ticktree.session.apart import Recorder
from ticktree.session.arming import arm
from ticktree.session.compiling import hide_from_compiler
from ticktree.session.functions import (
    disable,
    enable,
    focus,
    instrument,
    instrumented,
    snapshot,
    summary,
    timed,
    uninstrument,
)
from ticktree.session.session import Session, current
from ticktree.session.step_timer import StepTimer

__all__ = [
    "Recorder",
    "Session",
    "StepTimer",
    "arm",
    "current",
    "disable",
    "enable",
    "focus",
    "instrument",
    "instrumented",
    "snapshot",
    "summary",
    "timed",
    "uninstrument",
]

hide_from_compiler()
