"""The profiled program's own session: from `enable()` to its run on disk.

This code runs inside a user's program and must not stop it: it prints an error once, and recording continues in
private memory or not at all. It imports slow modules only when they are needed.
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
