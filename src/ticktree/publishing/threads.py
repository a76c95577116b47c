"""Threads of the supervisor: they stand back behind the program, and behind what else their process does for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from ticktree.machine.niceness import ONLOOKER, SUPERVISOR


def started(work: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread that has begun to work: of lower priority, nothing's end waits for it, and it takes no signal.

    Signals are for the thread that supervises; one hears those that its starter hears.
    """
    thread = threading.Thread(target=_step_back_and, args=(work,), name=name, daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread


def _step_back_and(work: Callable[[], None]) -> None:
    if sys.platform == "linux":  # elsewhere it would be all of the process
        with suppress(OSError):
            os.nice(ONLOOKER - SUPERVISOR)
    work()
