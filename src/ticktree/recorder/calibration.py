"""What a section costs here: what it records of itself, and what it adds unseen to its parent."""

from __future__ import annotations

from ticktree.recorder._native import Recorder

_CALLS = 300
_BATCHES = 9


def calibrate() -> tuple[float, float]:
    """Times empty sections in an own recorder; takes about a millisecond.

    Returns:
        Ticks of the recorder's clock, inner and outer: an empty section's own recorded time, and the rest of
        what a `with` statement of it takes. The least of several batches: whatever disturbed a batch made it slower.
    """
    recorder = Recorder()
    recorder.enable()
    section = recorder.section
    bare = full = inner = float("inf")
    for _ in range(_BATCHES):
        recorder.reset()
        begun = recorder.ticks
        for _ in range(_CALLS):
            pass
        bare = min(bare, recorder.ticks - begun)
        begun = recorder.ticks
        for _ in range(_CALLS):
            with section("calibration"):
                pass
        full = min(full, recorder.ticks - begun)
        calls, ticks = recorder.calls_of(section("calibration"))
        inner = min(inner, ticks / calls)
    recorder.disable()
    return inner, max(0.0, (full - bare) / _CALLS - inner)
