"""What a section costs here, beside the two clock reads it would take to write it by hand."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from statistics import median

from ticktree.outputs.writing import formatting
from ticktree.recorder import Recorder

_CALLS = 1000
_REPEATS = 41


def check() -> Iterator[str]:
    """Yield what an empty section costs, by name and bound, recording and not."""
    recorder = Recorder()
    recorder.enable()
    recording = _cost_ns(_by_name(recorder)), _cost_ns(_bound(recorder))
    recorder.disable()
    disabled = _cost_ns(_by_name(recorder))
    by_hand = _cost_ns(_by_hand)
    by_name, bound, off = (
        f"{formatting.time(cost)} ({cost / by_hand:.2f})" for cost in (*recording, disabled)
    )
    yield (
        f'`with section("x")` costs {by_name}, kept in a variable {bound}, disabled {off}; in parentheses as '
        f"a share of two time.perf_counter_ns() calls, {formatting.time(by_hand)}."
    )


def _cost_ns(body: Callable[[], int]) -> float:
    """What a turn of a loop costs beyond the loop: the median of repeats, in turn with the bare loop."""
    gc.disable()
    try:
        return max(0.1, median(body() - _nothing() for _ in range(_REPEATS)) / _CALLS)
    finally:
        gc.enable()


def _nothing() -> int:
    begun = time.perf_counter_ns()
    for _ in range(_CALLS):
        pass
    return time.perf_counter_ns() - begun


def _by_hand() -> int:
    now = time.perf_counter_ns
    begun = now()
    for _ in range(_CALLS):
        entered = now()
        _ = now() - entered
    return now() - begun


def _by_name(recorder: Recorder) -> Callable[[], int]:
    section = recorder.section

    def loop() -> int:
        begun = time.perf_counter_ns()
        for _ in range(_CALLS):
            with section("cost"):
                pass
        return time.perf_counter_ns() - begun

    return loop


def _bound(recorder: Recorder) -> Callable[[], int]:
    bound = recorder.section("cost")

    def loop() -> int:
        begun = time.perf_counter_ns()
        for _ in range(_CALLS):
            with bound:
                pass
        return time.perf_counter_ns() - begun

    return loop
