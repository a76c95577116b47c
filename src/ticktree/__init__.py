"""ticktree: where every millisecond of a learning or control loop goes.

PYTEST_DONT_REWRITE: pytest, which finds our plugin, need not warn that under `ticktree run` we were there before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ticktree.errors import TicktreeError
from ticktree.session import (
    Recorder,
    StepTimer,
    current,
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

if TYPE_CHECKING:
    from ticktree.loading import load
    from ticktree.profile import Profile

__version__ = "0.2.0"

__all__ = [
    "Profile",
    "Recorder",
    "StepTimer",
    "TicktreeError",
    "disable",
    "enable",
    "focus",
    "gauge",
    "instrument",
    "instrumented",
    "load",
    "loop",
    "record_duration",
    "reset",
    "role",
    "section",
    "snapshot",
    "stage",
    "summary",
    "tick",
    "timed",
    "uninstrument",
    "wakes",
    "woken_by",
]

section = current.recorder.section
stage = current.recorder.stage
loop = current.recorder.loop
tick = current.recorder.tick
record_duration = current.recorder.record_duration
gauge = current.recorder.gauge
wakes = current.recorder.wakes
woken_by = current.recorder.woken_by
reset = current.recorder.reset
role = current.recorder.role


def __getattr__(name: str) -> Any:
    """`Profile`, `load` and IPython's extension need what a profiled program does not: they are imported when used."""
    if name == "Profile":
        from ticktree.profile import Profile

        return Profile
    if name == "load":
        from ticktree.loading import load

        return load
    if name in ("load_ipython_extension", "unload_ipython_extension"):  # `%load_ext ticktree`
        from ticktree.session import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
