"""Env steps as ticks, in programs that mark nothing themselves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ticktree.recorder import UnmarkedLoop

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

LOOP = "env"


def env_loop(recorder: Recorder) -> UnmarkedLoop:
    """Return the loop of env steps: of one env, or vector of them, on each thread."""
    return UnmarkedLoop(recorder.section(LOOP), _is_nobodys_worker)


def _is_nobodys_worker() -> bool:
    """Whether no other process has this one step its envs: else the loop is that one's."""
    process = sys.modules.get("multiprocessing.process")
    return process is None or process.parent_process() is None
