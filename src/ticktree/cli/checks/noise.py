"""How often, and for how long, this machine takes the processor away from what runs on it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

from ticktree.outputs.writing import formatting

_WATCHED_NS = 500_000_000
_INTERRUPTED_NS = 20_000  # Two clock reads in a row take a hundredth of that.


def check() -> Iterator[str]:
    """Yield what a loop that does nothing but look at the clock saw."""
    gaps = _gaps_ns()
    lost = formatting.share(sum(gaps) / _WATCHED_NS)
    if not gaps:
        yield f"In half a second nothing stopped a busy loop for {formatting.time(_INTERRUPTED_NS)}."
        return
    yield (
        f"In half a second a busy loop was stopped {len(gaps)} times for {formatting.time(_INTERRUPTED_NS)} "
        f"or longer, at most for {formatting.time(max(gaps))}; that cost it {lost} of its time. No section "
        "here can be steadier."
    )


def _gaps_ns() -> list[int]:
    now = time.perf_counter_ns
    gaps = []
    gc.disable()
    try:
        last = now()
        end = last + _WATCHED_NS
        while last < end:
            before, last = last, now()
            if last - before >= _INTERRUPTED_NS:
                gaps.append(last - before)
    finally:
        gc.enable()
    return gaps
