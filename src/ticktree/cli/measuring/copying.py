"""How fast one thread copies memory: what is too much for any cache, and what fits into one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ticktree.cli.measuring.rounds import best_s, bests_s

# Beyond the caches of most machines.
MEMORY_BYTES = 64 << 20
# It is copied piece by piece, and of each piece the shortest time counts: the whole takes longer than the moments for
# which a busy machine leaves a program alone. A piece has left the caches when its turn comes again.
_PIECE_BYTES = 1 << 20
# In the first cache of every processor, in the second, and in the second of larger ones: which is the fastest differs,
# because a call of numpy's takes as long as copying some kilobytes.
_CACHE_BYTES = (16 << 10, 64 << 10, 256 << 10)
_COPIES = 50


def memcpy_bytes_per_s(seconds: float) -> float:
    """Return how many bytes a second one thread copies onto memory that is already there.

    Args:
        seconds: How long to try.
    """
    # Ones and not zeros: memory that was never written is one page of the kernel's, many times over.
    source, target = np.ones(MEMORY_BYTES, np.uint8), np.ones(MEMORY_BYTES, np.uint8)
    pieces = range(0, MEMORY_BYTES, _PIECE_BYTES)
    copies = [_copy(target[at : at + _PIECE_BYTES], source[at : at + _PIECE_BYTES]) for at in pieces]
    return MEMORY_BYTES / sum(bests_s(copies, seconds))


def _copy(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> Callable[[], None]:
    return lambda: np.copyto(target, source)


def cache_copy_bytes_per_s(seconds: float) -> float:
    """Return how many bytes a second one thread copies that stay in its caches.

    Args:
        seconds: How long to try.
    """
    return max(_cached(size, seconds / len(_CACHE_BYTES)) for size in _CACHE_BYTES)


def _cached(size: int, seconds: float) -> float:
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)

    def copies() -> None:
        for _ in range(_COPIES):
            np.copyto(target, source)

    return size * _COPIES / best_s(copies, seconds)


def clock_read_ns(seconds: float) -> float:
    """Return what `time.perf_counter_ns()` costs, in nanoseconds.

    Args:
        seconds: How long to try.
    """
    reads = range(1000)

    def read() -> None:
        now = time.perf_counter_ns
        for _ in reads:
            now()

    return best_s(read, seconds) * 1e9 / len(reads)
