"""Bound: between what a number may lie, and how far it is from where it may not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """What a number is allowed to be. Both ends belong to it.

    Attributes:
        least: what it may be at the least; None where there is no such end.
        most: what it may be at the most; None where there is no such end.
    """

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether `value` lies within."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def margin(self, value: float) -> float | None:
        """How far within its nearer end a value lies, as a part of that end; negative where it lies outside.

        None where that end is 0: nothing is a part of nothing.
        """
        ends = ((self.most, -1), (self.least, 1))
        margins = [sign * (value - end) / abs(end) if end else None for end, sign in ends if end is not None]
        known = [margin for margin in margins if margin is not None]
        return min(known) if len(known) == len(margins) else None
