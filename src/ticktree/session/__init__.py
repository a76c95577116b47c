"""The profiled program's own session: from `enable()` to its run on disk.

Everything here runs inside somebody else's program, so nothing here may stop it: what goes wrong is said once,
and recording goes on in private memory or not at all. What is slow to import is imported when it is needed.
"""

from __future__ import annotations

from ticktree.session.apart import Recorder
from ticktree.session.arming import arm
from ticktree.session.compiling import be_seen_through
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

be_seen_through()
