"""Ticks of a memory file's clock to nanoseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ticktree.run.reading import layout

# Closer than this, two anchors say less than the scale measured when the recorder was made.
_FAR_ENOUGH_NS = 10_000_000
_FAR_NS = 1 << 61


class Clock:
    """Converts one file's ticks, exactly and in integers.

    Args:
        header: The file's header, with its anchors.
    """

    def __init__(self, header: layout.Record) -> None:
        first, last = header.first, header.last
        self._ns: int = header.ns_per_tick
        self._ticks: int = 1 << 32
        elapsed_ns, elapsed = last.monotonic_ns - first.monotonic_ns, last.ticks - first.ticks
        if header.clock_kind and elapsed_ns > _FAR_ENOUGH_NS and elapsed > 0:
            near = (elapsed_ns << 32) // elapsed
            # A write may have fallen between the two: what differs by a thousandth is no clock's drift.
            if abs(near - header.ns_per_tick) * 1000 < header.ns_per_tick:
                self._ns, self._ticks = elapsed_ns, elapsed
        self._first_ticks: int = first.ticks
        self._began_before_ns: int = max(0, first.monotonic_ns - header.run_began_ns)

    def ns(self, ticks: int) -> int:
        """A duration, in nanoseconds, rounded; negative ones too."""
        return (2 * ticks * self._ns + self._ticks) // (2 * self._ticks)

    def since_began_ns(self, ticks: int) -> int:
        """A moment, in nanoseconds since the run began."""
        return max(0, self._began_before_ns + self.ns(ticks - self._first_ticks))

    def moments_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Moments, in nanoseconds since the run began; of two, the later one is never before the other."""
        since = (ticks - np.uint64(self._first_ticks)).view(
            np.int64
        )  # modulo 2^64, so that earlier ones are negative
        if self._ns == self._ticks:
            ns = since
        else:
            # Exact to a nanosecond within a hundred days; rounding keeps the order.
            exact = since.astype(np.longdouble) * self._ns / self._ticks
            ns = np.rint(np.clip(exact, -_FAR_NS, _FAR_NS)).astype(np.int64)
        # A damaged file's moments may be any: they are far away, and still in order.
        found: NDArray[np.int64] = np.maximum(
            np.clip(ns, -_FAR_NS, _FAR_NS) + min(self._began_before_ns, _FAR_NS), 0
        )
        return found
