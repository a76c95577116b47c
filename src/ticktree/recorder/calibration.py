"""The cost of a section here: the part that it records itself, and the part that lands in its parent."""

from __future__ import annotations

from ticktree.recorder._native import Recorder

_CALLS = 300
_BATCHES = 9


def calibrate() -> tuple[float, float]:
    """Times empty sections in a recorder of its own; takes about a millisecond.

    Returns:
        Ticks of the recorder's clock, inner and outer: an empty section's own recorded time, and the rest of the
        `with` statement's. The minimum of several batches, because a disturbance only makes a batch slower.
    """
    recorder = Recorder()
    recorder.enable()
    section = recorder.section
    empty_loop = section_loop = inner = float("inf")
    for _ in range(_BATCHES):
        recorder.reset()
        start = recorder.ticks
        for _ in range(_CALLS):
            pass
        empty_loop = min(empty_loop, recorder.ticks - start)
        start = recorder.ticks
        for _ in range(_CALLS):
            with section("calibration"):
                pass
        section_loop = min(section_loop, recorder.ticks - start)
        calls, ticks = recorder.calls_of(section("calibration"))
        inner = min(inner, ticks / calls)
    recorder.disable()
    return inner, max(0.0, (section_loop - empty_loop) / _CALLS - inner)
