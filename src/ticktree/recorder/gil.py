"""Off for good: by a variable of the environment, read once, as ticktree is imported, or without the GIL.

ticktree needs the GIL, which a free-threaded interpreter enables as the native module loads.
"""

from __future__ import annotations

import os
import sys
import warnings

OFF_VARIABLE = "TICKTREE_OFF"
FREE_THREADED = "t" in getattr(sys, "abiflags", "")
WHY_NOTHING = "PYTHON_GIL=0 or -X gil=0 keeps the GIL off, which ticktree needs"

if FREE_THREADED:
    with warnings.catch_warnings():
        # The interpreter says it in two lines on the program's standard error; `ticktree run` says it in one.
        warnings.simplefilter("ignore", RuntimeWarning)
        import ticktree.recorder._native  # noqa: F401


def is_kept_off() -> bool:
    """Tell whether the interpreter is forced to run without the GIL whatever it loads, as by PYTHON_GIL=0."""
    return FREE_THREADED and not sys._is_gil_enabled()  # type: ignore[attr-defined, unused-ignore]


def remark() -> str | None:
    """Return what users of a free-threaded interpreter must know, in a line; None for all others."""
    if not FREE_THREADED:
        return None
    if is_kept_off():
        return f"nothing is recorded: {WHY_NOTHING}"
    return "this Python is free-threaded: ticktree needs the GIL, which is enabled"


def says_off(word: str) -> bool:
    """Tell whether a value of the variable turns ticktree off."""
    return word not in ("", "0")


OFF_FOR_GOOD = says_off(os.environ.get(OFF_VARIABLE, "")) or is_kept_off()
