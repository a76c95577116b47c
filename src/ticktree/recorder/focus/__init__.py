"""Focus: any program's own call tree, below functions that are named.

Calls are reported by `sys.monitoring` from Python 3.12 on (monitoring.py), and by a profile function before
(profiling.py). What a call site is called is found once, when it is met (naming.py), and kept in the memory file:
by the time of a report, the source may have changed, or be on another machine, or never have been in a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticktree.errors import TicktreeError
from ticktree.recorder._native import Recorder
from ticktree.recorder.children import FOCUS_VARIABLES

if TYPE_CHECKING:
    from ticktree.recorder.focus.eye import Eye

__all__ = [
    "DEEPEST",
    "DEPTH",
    "begin_focus",
    "begin_focus_from_environment",
    "checked_names",
    "end_focus",
    "focus_environment",
]

# Default levels of calls below a function in focus: with its own, five.
DEPTH = 4
DEEPEST = 200
NAMES_AT_MOST = 32

# Names with commas between; how deep; whether C functions too; how many first calls are set aside.
_NAMES, _DEPTH, _C, _WARMUP = FOCUS_VARIABLES

_eyes: list[Eye] = []


def begin_focus(
    recorder: Recorder,
    names: Sequence[str],
    depth: int = DEPTH,
    c_functions: bool = False,
    warmup: int | None = None,
) -> None:
    """Records every call of the functions that are named, and the calls below them by call site.

    Args:
        recorder: What records.
        names: `package.module.Class.method`, or of the program itself `Class.method`.
        depth: How many levels of calls below a function that is named; deeper calls are their caller's self time.
        c_functions: Record calls of C functions too.
        warmup: First calls of each function whose statistics are set aside; None: as many as are unlike the rest.

    Raises:
        TicktreeError: It cannot be: says why.
    """
    end_focus()
    names = checked_names(names)
    if not names or not 0 <= depth <= DEEPEST:
        raise TicktreeError(f"no function is named, or the depth of {depth} is not between 0 and {DEEPEST}")
    if sys.version_info >= (3, 12):
        from ticktree.recorder.focus.monitoring import Monitoring

        eye: Eye = Monitoring(recorder, names, depth, c_functions, warmup)
    else:
        from ticktree.recorder.focus.profiling import Profiling

        eye = Profiling(recorder, names, depth, c_functions, warmup)
    try:
        eye.begin()
    except TicktreeError:
        eye.note_unseen()
        raise
    _eyes.append(eye)


def end_focus() -> None:
    """Nothing is in focus any more."""
    while _eyes:
        _eyes.pop().end()


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each a dotted one and none twice.

    Raises:
        TicktreeError: One of them is not, or they are too many.
    """
    for name in names:
        words = name.split(".")
        if not all(word.isidentifier() or word in ("<locals>", "<lambda>") for word in words):
            wanted = "it is PKG.CLASS.METHOD, or CLASS.METHOD of the script"
            raise TicktreeError(f"--focus {name!r} names no function: {wanted}")
    if len(set(names)) > NAMES_AT_MOST:
        raise TicktreeError(f"at most {NAMES_AT_MOST} functions can be in focus, not {len(set(names))}")
    return tuple(dict.fromkeys(names))


def focus_environment(
    names: Sequence[str], depth: int, c_functions: bool, warmup: int | None = None
) -> dict[str, str]:
    """What processes that are started are to find in their environment."""
    if not names:
        return {}
    words = {_NAMES: ",".join(names), _DEPTH: str(depth)}
    if c_functions:
        words[_C] = "1"
    if warmup is not None:
        words[_WARMUP] = str(warmup)
    return words


def begin_focus_from_environment(recorder: Recorder) -> None:
    """In a process that was started armed: what its parent process requested.

    Raises:
        TicktreeError: It cannot be: says why.
    """
    names = [name for name in os.environ.get(_NAMES, "").split(",") if name]
    if names:
        depth = os.environ.get(_DEPTH, "")
        warmup = os.environ.get(_WARMUP, "")
        begin_focus(
            recorder,
            names,
            int(depth) if depth.isdecimal() else DEPTH,
            bool(os.environ.get(_C)),
            int(warmup) if warmup.isdecimal() else None,
        )
