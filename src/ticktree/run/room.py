"""Check that there is memory for numpy, which reading a run needs.

Without it, numpy's linear algebra library calls exit(1) during the import, which cannot be caught. A program with
limited memory (`ulimit -v`) would end with a wrong status.
"""

from __future__ import annotations

import os
import sys

from ticktree.errors import TicktreeError

# Measured with numpy 2.3, one thread: 84 MB of addresses. Each further thread takes 40: a stack, and a buffer.
_ALONE = 64 << 20
_PER_THREAD = 40 << 20


def require_room() -> None:
    """Raise if this process cannot allocate the memory that importing numpy takes."""
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
