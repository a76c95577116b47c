"""Whether ticktree is off for the whole process: by an environment variable, read at import, or without the GIL.

ticktree needs the GIL, which a free-threaded interpreter enables when the native module loads.
"""

from __future__ import annotations

import os
import sys
import warnings

OFF_VARIABLE = "TICKTREE_OFF"
FREE_THREADED = "t" in getattr(sys, "abiflags", "")
GIL_REASON = "PYTHON_GIL=0 or -X gil=0 keeps the GIL off, which ticktree needs"

if FREE_THREADED:
    with warnings.catch_warnings():
        # The interpreter prints two lines about it on the program's standard error; `ticktree run` prints one.
        warnings.simplefilter("ignore", RuntimeWarning)
        import ticktree.recorder._native  # noqa: F401


def is_gil_disabled() -> bool:
    """Return whether the interpreter must run without the GIL whatever it loads, as with PYTHON_GIL=0."""
    return FREE_THREADED and not sys._is_gil_enabled()  # type: ignore[attr-defined, unused-ignore]


def free_threading_note() -> str | None:
    """Return one line that users of a free-threaded interpreter must know; None for all others."""
    if not FREE_THREADED:
        return None
    if is_gil_disabled():
        return f"nothing is recorded: {GIL_REASON}"
    return "this Python is free-threaded: ticktree needs the GIL, which is enabled"


def is_off_value(value: str) -> bool:
    """Return whether a value of the variable turns ticktree off."""
    return value not in ("", "0")


IS_OFF = is_off_value(os.environ.get(OFF_VARIABLE, "")) or is_gil_disabled()
