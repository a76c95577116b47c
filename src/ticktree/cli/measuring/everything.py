"""All ceilings of this machine, measured one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable

from ticktree.cli.measuring import copying, multiplying
from ticktree.cli.progress import progress
from ticktree.machine.ceilings import processor
from ticktree.machine.ceilings.kept import Kept

# For each, each time. What takes cores away from a program often does so for seconds on end, so that two looks at
# some distance find more than one that is twice as long.
_SECONDS = 0.6
_TIMES = 2


def measure(seconds: float = _SECONDS) -> Kept:
    """Measure every ceiling twice, and show on a terminal which is being measured.

    Args:
        seconds: About how long to try, for each, each time.

    Returns:
        The best of both, as one measurement.

    Raises:
        TicktreeError: This machine cannot be measured; says why.
    """
    first, *others = (_once(seconds) for _ in range(_TIMES))
    best = dict(sum(others, start=first).ceilings)
    # All threads can do what one can: they were kept from it.
    best["flops_per_s"] = max(best["flops_per_s"], best["flops_per_s_thread"])
    return Kept(best, time.time())


def _once(seconds: float) -> Kept:
    return Kept({name: _watched(doing, find) for name, doing, find in _ceilings(seconds)}, time.time())


def _ceilings(seconds: float) -> tuple[tuple[str, str, Callable[[], float]], ...]:
    """Return the name of each, what is being done to find it, and how it is found."""
    cores = processor.usable_cores()
    return (
        ("clock_read_ns", "reading the clock", lambda: copying.clock_read_ns(seconds / 5)),
        ("memcpy_bytes_per_s", "copying memory", lambda: copying.memcpy_bytes_per_s(seconds)),
        ("cache_copy_bytes_per_s", "copying in caches", lambda: copying.cache_copy_bytes_per_s(seconds / 2)),
        ("flops_per_s_thread", "multiplying on one core", lambda: multiplying.flops_per_s(1, seconds)),
        ("flops_per_s", "multiplying on all cores", lambda: multiplying.flops_per_s(cores, seconds)),
    )


def _watched(doing: str, find: Callable[[], float]) -> float:
    with progress(doing):
        return find()
