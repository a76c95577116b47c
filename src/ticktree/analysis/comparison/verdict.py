"""Verdict: what a shift says, and when it says nothing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ticktree.analysis.comparison.shift import Shift

Verdict: TypeAlias = Literal[
    "faster", "slower", "no difference", "inconclusive", "only in base", "only in new"
]

# Two percent is what nobody would change a program for, and less than two builds of the same code differ by
# (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", 2009).
THRESHOLD = 0.02


def verdict_of(shift: Shift, threshold: float = THRESHOLD) -> Verdict:
    """What a shift of durations says.

    "no difference" needs evidence as "slower" does: an interval that leaves no room for one that matters. A shift that
    is certain and too small to matter is none either.

    Args:
        shift: From base to new.
        threshold: The least shift that matters.
    """
    if -threshold < shift.low and shift.high < threshold:
        return "no difference"
    if shift.low > 0 and shift.estimate >= threshold:
        return "slower"
    if shift.high < 0 and shift.estimate <= -threshold:
        return "faster"
    return "inconclusive"
