"""Env steps as ticks, in programs that mark nothing themselves."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

from ticktree.recorder import end_unmarked, tick_unmarked

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

LOOP = "env"


class Ticks(threading.local):
    """The loop of env steps on each thread: a tick is from the beginning of a step to the beginning of the next.

    One env, or vector of them, is the thread's: the first that steps where nothing is open. Others, which evaluate
    what was learned, step within a tick. When it is closed or forgotten, the next one takes its place.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._section = recorder.section(LOOP)
        self._stepping: Any = _nobody

    def step_begins(self, env: Any) -> None:
        """Begins a tick, and ends the one before, where the program marks nothing."""
        stepping = self._stepping()
        if stepping is env:
            tick_unmarked(self._section)
        elif stepping is None and not _is_worker() and tick_unmarked(self._section):
            self._stepping = ref(env)

    def is_closed(self, env: Any) -> None:
        """Ends the tick that is open: what follows is no step's."""
        if self._stepping() is env:
            self._stepping = _nobody
            end_unmarked(self._section)


def _nobody() -> None:
    return None


def _is_worker() -> bool:
    """Whether another process has this one step its envs: the loop is that one's."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None
