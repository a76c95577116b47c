"""How parts of a profile are taken away from later ones; the inverse of their `+`, as far as there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ticktree.profile import Cpu, Histogram, Memory, Node, Share, Stats, Windows, Work
from ticktree.profile.histogram import edges_of
from ticktree.profile.table import Stored, add, columns

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Part = TypeVar("Part", Cpu, Memory, Share, Work)


class NotLaterError(ValueError):
    """What should be an earlier reading holds something that the later one does not."""


def less(earlier: Mapping[Key, int], later: Mapping[Key, int]) -> dict[Key, int]:
    """Return what each count of `later` has more; those that are the same in both are left out."""
    return {
        key: count - earlier.get(key, 0)
        for key, count in later.items()
        if key not in earlier or count != earlier[key]
    }


def between(
    earlier: Value | None, later: Value | None, less: Callable[[Value, Value], Value | None]
) -> Value | None:
    """Return what `later` has more, as `less` tells where they differ; all of it where there is no earlier one."""
    if earlier is None or later is None or earlier == later:
        return later if earlier is None else None
    return less(earlier, later)


def each_less(
    earlier: Mapping[Key, Value], later: Mapping[Key, Value], less: Callable[[Value, Value], Value | None]
) -> dict[Key, Value]:
    """Return what each of `later` has more, as `less` tells of two; who has nothing more is left out."""
    found = ((key, between(earlier.get(key), value, less)) for key, value in later.items())
    return {key: left for key, left in found if left is not None}


def added(earlier: Stored, later: Stored) -> dict[str, Any]:
    """Return what was added in between to each field that merges by adding; never less than the field may be.

    Parts of a call may be there and others not where a reading was caught in a write.
    """
    found = {}
    for column in columns(type(later)):
        if column.merge is add:
            more = getattr(later, column.name) - getattr(earlier, column.name)
            found[column.name] = more if column.least is None else max(column.least, more)
    return found


def added_less(earlier: Part, later: Part) -> Part:
    """Return `later` with only what was added in between where fields merge by adding."""
    return replace(later, **added(earlier, later))


def stats_less(earlier: Stats, later: Stats) -> Stats:
    """Return the calls that are only in `later`. Their extremes are exact where they are new ones.

    Raises:
        NotLaterError: `earlier` has calls that `later` has not.
    """
    count = later.count - earlier.count
    if not earlier.count:
        return later
    if count >= 0 and not later.is_known:  # they were only counted, by another program
        return Stats(count, max(0, later.sum_ns - earlier.sum_ns))
    histogram = reading_less(earlier.histogram, later.histogram)
    if count < 0 or histogram.count != count:
        raise NotLaterError("there are fewer calls than before")
    if not count:
        return Stats()
    assert later.min_ns is not None
    assert later.max_ns is not None
    # What is in no lower bucket was not shorter than this one begins; a new minimum begins in the lowest.
    low, high = edges_of(min(histogram.buckets))[0], edges_of(max(histogram.buckets))[1]
    return Stats(
        count=count,
        sum_ns=max(0, later.sum_ns - earlier.sum_ns),
        min_ns=max(later.min_ns, math.floor(low) if low > 1 else 0),
        max_ns=min(later.max_ns, math.floor(high)),
        histogram=histogram,
    )


def reading_less(earlier: Histogram, later: Histogram) -> Histogram:
    """Return the values that are only in `later`.

    Raises:
        NotLaterError: `earlier` has values that `later` has not.
    """
    if not earlier.buckets.keys() <= later.buckets.keys():
        raise NotLaterError("there are fewer values than before")
    left = less(earlier.buckets, later.buckets)
    if min(left.values(), default=0) < 0:
        raise NotLaterError("there are fewer values than before")
    return Histogram(left)


def windows_less(earlier: Node, later: Node) -> Windows:
    """Return the calls in between over the run's time; empty, as always, where they are not known."""
    known = all(node.windows.count == node.count for node in (earlier, later))
    if not known or earlier.windows.width_ns > later.windows.width_ns:
        return Windows()
    width_ns = later.windows.width_ns
    before = earlier.windows.coarsened(width_ns)
    counts = less(before.counts, later.windows.counts)
    totals = less(before.totals, later.windows.totals)
    if min(counts.values(), default=0) < 0 or min(totals.values(), default=0) < 0:
        return Windows()
    return Windows(width_ns, counts, totals)
