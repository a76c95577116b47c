"""Focus: any program's own call tree, below functions that are named.

Who tells of calls is `sys.monitoring` from Python 3.12 on (monitoring.py), and a profile function before
(profiling.py). What a call site is called is found once, when it is met (naming.py), and kept in the memory file: by the
time somebody reads, the source may have changed, or be on another machine, or never have been in a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ticktree.recorder._native import Recorder
from ticktree.recorder.focus.eye import DEPTH, Eye, FocusError

# What processes that are started are to look at: names, one a comma; how deep; whether at C functions too.
FOCUS_VARIABLE = "TICKTREE_FOCUS"
DEPTH_VARIABLE = "TICKTREE_FOCUS_DEPTH"
C_VARIABLE = "TICKTREE_FOCUS_C"

__all__ = [
    "C_VARIABLE",
    "DEPTH",
    "DEPTH_VARIABLE",
    "FOCUS_VARIABLE",
    "FocusError",
    "begin_focus",
    "begin_focus_from_environment",
    "end_focus",
    "focus_environment",
    "is_in_focus",
]

_eyes: list[Eye] = []


def begin_focus(
    recorder: Recorder, names: Sequence[str], depth: int = DEPTH, c_functions: bool = False
) -> None:
    """Records every call of the functions that are named, and the calls below them by call site.

    Args:
        recorder: What records.
        names: `package.module.Class.method`, or of the program itself `Class.method`.
        depth: How many levels of calls below a function that is named; deeper calls are their caller's own time.
        c_functions: Record calls of C functions too.

    Raises:
        FocusError: It cannot be: says why.
    """
    end_focus()
    if sys.version_info >= (3, 12):
        from ticktree.recorder.focus.monitoring import Monitoring

        eye: Eye = Monitoring(recorder, names, depth, c_functions)
    else:
        from ticktree.recorder.focus.profiling import Profiling

        eye = Profiling(recorder, names, depth, c_functions)
    eye.begin()
    _eyes.append(eye)


def end_focus() -> None:
    """Nothing is in focus any more."""
    while _eyes:
        _eyes.pop().end()


def is_in_focus() -> bool:
    """Whether functions are in focus in this process."""
    return bool(_eyes)


def focus_environment(names: Sequence[str], depth: int, c_functions: bool) -> dict[str, str]:
    """What processes that are started are to find in their environment."""
    if not names:
        return {}
    words = {FOCUS_VARIABLE: ",".join(names), DEPTH_VARIABLE: str(depth)}
    return {**words, C_VARIABLE: "1"} if c_functions else words


def begin_focus_from_environment(recorder: Recorder) -> None:
    """In a process that was started armed: what its starter asked for.

    Raises:
        FocusError: It cannot be: says why.
    """
    names = [name for name in os.environ.get(FOCUS_VARIABLE, "").split(",") if name]
    if names:
        depth = os.environ.get(DEPTH_VARIABLE, "")
        begin_focus(
            recorder, names, int(depth) if depth.isdecimal() else DEPTH, bool(os.environ.get(C_VARIABLE))
        )
