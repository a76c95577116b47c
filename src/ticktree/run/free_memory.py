"""Check that there is memory for numpy, which reading a run needs.

Without it, numpy's linear algebra library calls exit(1) during the import, which cannot be caught. A program with
limited memory (`ulimit -v`) would end with a wrong status.
"""

from __future__ import annotations

import os
import sys

from ticktree.errors import TicktreeError

# Measured with numpy 2.3, one thread: 84 MB of addresses. Each additional thread takes 40: a stack, and a buffer.
_ONE_THREAD_BYTES = 64 << 20
_THREAD_BYTES = 40 << 20


def require_free_memory() -> None:
    """Raise if this process cannot allocate the memory that importing numpy takes."""
    if "numpy" in sys.modules:
        return
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    size = _ONE_THREAD_BYTES + _THREAD_BYTES * threads
    try:
        import mmap

        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (ImportError, OSError, MemoryError, ValueError):
        raise TicktreeError(
            f"this process has no {size >> 20} MB of memory left to read it with; `ticktree report` will save it"
        ) from None
