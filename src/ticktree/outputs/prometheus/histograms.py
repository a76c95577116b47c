"""Histograms of durations, with a limit an octave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ticktree.outputs.prometheus.seconds import seconds
from ticktree.outputs.shapes.octaves import cumulative, longest_ns, octaves
from ticktree.profile import Stats


@dataclass(frozen=True, slots=True)
class Durations:
    """A histogram of every entry of which it is known how long single calls took.

    All have the limits of all, without which Prometheus cannot add them up.

    Attributes:
        name: after the prefix that all have.
        about: what it is, in a few words.
        samples: of each series its labels, and what is in it.
        kind: as Prometheus calls it.
    """

    name: str
    about: str
    samples: list[tuple[Mapping[str, str], Stats]]
    kind: str = "histogram"
    _octaves: range = field(init=False)

    def __post_init__(self) -> None:
        known = [(labels, stats) for labels, stats in self.samples if stats.count and stats.is_known]
        object.__setattr__(self, "samples", known)
        object.__setattr__(self, "_octaves", octaves(stats.histogram for _, stats in known))

    def buckets(self, stats: Stats) -> Iterator[tuple[float, int]]:
        """Yield limits in seconds, and how many calls took no longer."""
        for octave, count in zip(self._octaves, cumulative(stats.histogram, self._octaves), strict=True):
            yield seconds(longest_ns(octave)), count

    @staticmethod
    def sum_s(stats: Stats) -> float:
        """Return what all calls took together."""
        return seconds(stats.sum_ns)
