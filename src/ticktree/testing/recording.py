"""Recording one part of a process's life, apart from the rest of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ticktree.errors import TicktreeError
from ticktree.recorder import OFF_FOR_GOOD, OFF_VARIABLE
from ticktree.session import current

if TYPE_CHECKING:
    from ticktree.profile import Profile

# A program records with one recorder: whose record would it be, were there two at once?
_busy = threading.Lock()


@contextmanager
def recording(keep: Callable[[Profile], None]) -> Iterator[None]:
    """Record with the program's own recorder, from nothing; afterwards it is on or off as before.

    Args:
        keep: Gets what was recorded.
    """
    if OFF_FOR_GOOD:
        raise TicktreeError(f"ticktree is off for good here ({OFF_VARIABLE}): nothing can be checked")
    if current.armed:
        raise TicktreeError("this process is recorded by ticktree run, whose record a check would clear")
    if not _busy.acquire(blocking=False):
        raise TicktreeError("another check is in progress: they do not nest, and a process has one at a time")
    try:
        was_recording = current.recorder.recording
        current.begin_afresh()
        try:
            yield
        finally:
            keep(current.snapshot())
            if not was_recording:
                current.disable()
    finally:
        _busy.release()
