"""What the steady ticks of one loop of a memory file add up to, as far as it is known of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ticktree.profile import Causes, Histogram
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

# More than a process does in a year; and so few that no sum of them overflows.
_MOST = 1 << 48


@dataclass(frozen=True)
class Sums:
    """What is known of a loop's ticks beside its record; None and empty where it is not known of all of them.

    Attributes:
        waited, missed: Clock ticks, waited and in missed ticks.
        causes, missed_causes: As in `Loop`.
        breakdown: Clock ticks in missed ticks, by the reference of the node.
        late, steps: How late missed ticks were; by how much neighbouring ticks differ.
    """

    waited: int | None = None
    missed: int | None = None
    causes: Causes | None = None
    missed_causes: Causes | None = None
    breakdown: Mapping[int, int] = field(default_factory=dict)
    late: Histogram = field(default_factory=Histogram)
    steps: Histogram = field(default_factory=Histogram)


def sums_of(
    image: Image, record: layout.Record, ticks: int, missed: int, ns: Callable[[int], int], *, torn: bool
) -> Sums:
    """Reads what a loop's record names; nothing of a loop in an older file, where it names nothing.

    Args:
        image: The file.
        record: The loop.
        ticks: Its ticks after warm-up.
        missed: Its missed ticks.
        ns: Converts clock ticks.
        torn: Whether of the record parts of one tick may be there and others not: then sums are not believed.

    Raises:
        DamagedError: The file says what cannot be.
    """
    if not record.sums:
        return Sums()
    sums = image.loop_sums(record.sums)
    late = _histogram(image, sums.late_octaves, missed)
    steps = _histogram(image, sums.jitter_octaves, record.jitter_count)
    if torn:
        return Sums(late=late, steps=steps)
    breakdown = {row.node: row.sum for row in image.missed_rows(sums.missed_rows) if row.sum}
    knows_misses = sums.missed == missed
    return Sums(
        waited=sums.waited if sums.ticks == ticks else None,
        missed=sums.missed_sum if knows_misses else None,
        causes=_causes(sums.causes, ticks, ns),
        missed_causes=_causes(sums.missed_causes, missed, ns),
        breakdown=breakdown if knows_misses else {},
        late=late,
        steps=steps,
    )


def _causes(causes: layout.Record, most: int, ns: Callable[[int], int]) -> Causes | None:
    """Return them, if they are of some of so many ticks."""
    if not 0 < causes.ticks <= most:
        return None
    return Causes(
        ticks=causes.ticks,
        gc_ns=ns(causes.gc_ticks),
        voluntary_switches=causes.voluntary_switches,
        involuntary_switches=causes.involuntary_switches,
        minor_faults=causes.minor_faults,
        major_faults=causes.major_faults,
    )


def _histogram(image: Image, octaves: Iterable[int], count: int) -> Histogram:
    """Return the histogram; an empty one where it does not hold so many values."""
    buckets = dict(_buckets(image, octaves))
    if max(buckets.values(), default=0) > _MOST:
        raise image.damaged("a histogram holds more ticks than there can be")
    found = Histogram(buckets)
    return found if found.count == count else Histogram()


def _buckets(image: Image, octaves: Iterable[int]) -> Iterator[tuple[int, int]]:
    for octave, ref in enumerate(octaves):
        if ref:
            for sub, count in enumerate(image.octave(ref)):
                if count:
                    yield octave * layout.SUB_BUCKETS + sub, count
