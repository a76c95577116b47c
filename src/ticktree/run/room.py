"""Whether there is room for numpy, without which no run can be read.

Where there is none its linear algebra calls exit(1), from within the import: nothing can catch that. A program whose
memory is limited (`ulimit -v`) would end with another status than its own.
"""

from __future__ import annotations

import os
import sys

from ticktree.errors import TicktreeError

# Measured with numpy 2.3, one thread: 84 MB of addresses. Each thread more takes 40: a stack, and a buffer.
_ALONE = 64 << 20
_PER_THREAD = 40 << 20


def require_room() -> None:
    """Refuse to import numpy where this process cannot have the memory that numpy takes.

    Raises:
        TicktreeError: It cannot.
    """
    if "numpy" in sys.modules:
        return
    needed = _ALONE + _PER_THREAD * len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0])
    try:
        import mmap

        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (ImportError, OSError, MemoryError, ValueError):
        raise TicktreeError(
            f"this process has no {needed >> 20} MB of memory left to read it with; `ticktree report` will save it"
        ) from None
