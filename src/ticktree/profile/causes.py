"""Causes: what the operating system and the garbage collector did to a loop's ticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Causes:
    """What else happened in ticks, added up over those of which it is known. Every field merges by adding.

    Attributes:
        ticks: ticks of which all of this is known: the others may have been disturbed as well.
        gc_ns: the garbage collector's pauses, in the whole process.
        voluntary_switches: how often the loop's thread gave its core away: it waited, or slept.
        involuntary_switches: how often its core was taken from it: somebody else was to run.
        minor_faults: pages of memory that it touched for the first time.
        major_faults: pages that had to be read from a disk.
    """

    ticks: int
    gc_ns: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    def __add__(self, other: Causes) -> Causes:
        return Causes(*(left + right for left, right in zip(self.amounts(), other.amounts(), strict=True)))

    def __sub__(self, other: Causes) -> Causes:
        """What is left without a part of it."""
        return Causes(*(left - right for left, right in zip(self.amounts(), other.amounts(), strict=True)))

    def amounts(self) -> tuple[int, int, int, int, int, int]:
        """Return its fields, in their order."""
        return (
            self.ticks,
            self.gc_ns,
            self.voluntary_switches,
            self.involuntary_switches,
            self.minor_faults,
            self.major_faults,
        )

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if min(self.amounts()) < 0:
            yield "a cause of ticks is negative"
