"""How parts of a profile are taken away from later ones; the inverse of their `+`, as far as there is one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

from ticktree.profile import Histogram, Node, Stats, Windows
from ticktree.profile.histogram import edges_of

Key = TypeVar("Key", bound=Hashable)


class NotLaterError(ValueError):
    """What should be an earlier reading holds something that the later one does not."""


def less(earlier: Mapping[Key, int], later: Mapping[Key, int]) -> dict[Key, int]:
    """Return what each count of `later` has more; those that are the same in both are left out."""
    return {
        key: count - earlier.get(key, 0)
        for key, count in later.items()
        if key not in earlier or count != earlier[key]
    }


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
        max_ns=min(later.max_ns, math.ceil(high)),
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
