"""Focus in the program's own session: where functions are wrapped for it, torch.compile looks through."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ticktree.recorder import Recorder
from ticktree.recorder.focus import begin_focus, begin_focus_from_environment, end_focus

# From 3.12 on nothing is wrapped (recorder/focus/monitoring.py).
_WRAPS = sys.version_info < (3, 12)
_NAME = "focus"


def begin(
    recorder: Recorder, names: Sequence[str], depth: int, c_functions: bool, warmup: int | None
) -> None:
    """Looks at the functions that are named, and at no others any more.

    Raises:
        TicktreeError: It cannot be: says why.
    """
    begin_focus(recorder, names, depth, c_functions, warmup)
    _be_seen_through()


def begin_from_environment(recorder: Recorder) -> None:
    """Looks at those that whoever started this process asked for, if any.

    Raises:
        TicktreeError: It cannot be: says why.
    """
    if begin_focus_from_environment(recorder):
        _be_seen_through()


def end() -> None:
    """Looks at nothing any more."""
    end_focus()
    if _WRAPS:
        from ticktree.instrument.torch.sections import let_go

        let_go(_NAME)


def _be_seen_through() -> None:
    """Has torch.compile, which knows no functions but Python's, take each for what it wraps."""
    if _WRAPS:
        from ticktree.instrument.torch.sections import leave_no_trace  # here, because it reads a whole room

        leave_no_trace(_NAME)
