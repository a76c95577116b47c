"""Ticks in programs that mark nothing themselves: an env's steps, or an optimizer's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ticktree.recorder import UnmarkedLoop

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


def unmarked_loop(recorder: Recorder, name: str) -> UnmarkedLoop:
    """Return a loop of which one thing's steps are the ticks, on each thread where no other loop is open."""
    return UnmarkedLoop(recorder.section(name), _steps_for_itself)


def _steps_for_itself() -> bool:
    """Whether no other process has this one take its steps: else the loop is that process's."""
    process = sys.modules.get("multiprocessing.process")
    return process is None or process.parent_process() is None
