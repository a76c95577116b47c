"""The profiled program's own session: from `enable()` to its run on disk.

This code runs inside a user's program and must not stop it: it prints an error once, and recording continues in
private memory or not at all. It imports slow modules only when they are needed.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.recorder.imports import when_imported
from ticktree.session.arming import arm
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
from ticktree.session.separate_recorder import Recorder
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


def _hide_from_compiler(_: ModuleType) -> None:
    from ticktree.instruments.torch.sections import leave_no_trace

    leave_no_trace()


# A program contains its sections even if it is not recorded, and they must not break the graphs of torch.compile.
when_imported("torch._dynamo", _hide_from_compiler)
