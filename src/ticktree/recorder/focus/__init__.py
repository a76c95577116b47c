"""Focus: the call tree of any program, below functions that the user names.

Calls are reported by `sys.monitoring` from Python 3.12 on (monitoring.py), and by a profile function before
(profiling.py). The name of a call site is found at its first call (naming.py), and kept in the memory file: by the
time of a report, the source may have changed, be on another machine, or never have been in a file.
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
    from ticktree.recorder.focus.observer import CallObserver

__all__ = [
    "DEFAULT_DEPTH",
    "MAX_DEPTH",
    "begin_focus",
    "begin_focus_from_environment",
    "check_names",
    "end_focus",
    "focus_environment",
]

# Default levels of calls below a function in focus; with the function itself, five.
DEFAULT_DEPTH = 4
MAX_DEPTH = 200
MAX_NAMES = 32

# Names separated by commas; depth; whether to record C functions; how many first calls are set aside.
_NAMES, _DEPTH, _C, _WARMUP = FOCUS_VARIABLES

_observers: list[CallObserver] = []


def begin_focus(
    recorder: Recorder,
    names: Sequence[str],
    depth: int = DEFAULT_DEPTH,
    c_functions: bool = False,
    warmup: int | None = None,
) -> None:
    """Record every call of the named functions, and the calls below them by call site.

    Args:
        recorder: The recorder.
        names: `package.module.Class.method`, or `Class.method` in the program itself.
        depth: How many levels of calls below a named function; deeper calls are their caller's self time.
        c_functions: Record calls of C functions too.
        warmup: First calls of each function whose statistics are set aside; None: as many as are unlike the rest.

    Raises:
        TicktreeError: It is not possible; the message says why.
    """
    end_focus()
    names = check_names(names)
    if not names or not 0 <= depth <= MAX_DEPTH:
        raise TicktreeError(f"no function is named, or the depth of {depth} is not between 0 and {MAX_DEPTH}")
    if sys.version_info >= (3, 12):
        from ticktree.recorder.focus.monitoring import MonitoringObserver as Observer
    else:
        from ticktree.recorder.focus.profiling import ProfilingObserver as Observer

    observer = Observer(recorder, names, depth, c_functions, warmup)
    try:
        observer.begin()
    except TicktreeError:
        observer.record_unseen()
        raise
    _observers.append(observer)


def end_focus() -> None:
    """Take all functions out of focus."""
    while _observers:
        _observers.pop().end()


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without duplicates, after a check that each is a dotted name.

    Raises:
        TicktreeError: One is not, or there are too many.
    """
    for name in names:
        words = name.split(".")
        if not all(word.isidentifier() or word in ("<locals>", "<lambda>") for word in words):
            expected = "it is PKG.CLASS.METHOD, or CLASS.METHOD of the script"
            raise TicktreeError(f"--focus {name!r} names no function: {expected}")
    if len(set(names)) > MAX_NAMES:
        raise TicktreeError(f"at most {MAX_NAMES} functions can be in focus, not {len(set(names))}")
    return tuple(dict.fromkeys(names))


def focus_environment(
    names: Sequence[str], depth: int, c_functions: bool, warmup: int | None = None
) -> dict[str, str]:
    """Return the environment variables that put the functions into focus in child processes."""
    if not names:
        return {}
    variables = {_NAMES: ",".join(names), _DEPTH: str(depth)}
    if c_functions:
        variables[_C] = "1"
    if warmup is not None:
        variables[_WARMUP] = str(warmup)
    return variables


def begin_focus_from_environment(recorder: Recorder) -> None:
    """Begin the focus that the parent process requested, in a process that was started armed.

    Raises:
        TicktreeError: It is not possible; the message says why.
    """
    names = [name for name in os.environ.get(_NAMES, "").split(",") if name]
    if names:
        depth = os.environ.get(_DEPTH, "")
        warmup = os.environ.get(_WARMUP, "")
        begin_focus(
            recorder,
            names,
            int(depth) if depth.isdecimal() else DEFAULT_DEPTH,
            bool(os.environ.get(_C)),
            int(warmup) if warmup.isdecimal() else None,
        )
