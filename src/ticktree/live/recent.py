"""The last seconds of a run: a window that moves with its readings."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ticktree.live.difference import difference
from ticktree.live.subtraction import NotLaterError
from ticktree.profile import Profile

# However often it is read, so many readings a window are kept: profiles of thousands of nodes take megabytes.
KEPT_IN_A_WINDOW = 10


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a run.

    Attributes:
        profile: what happened in it.
        length_ns: how long it is; more than 0.
    """

    profile: Profile
    length_ns: int


class Recent:
    """Readings of the last seconds, and what happened between the oldest and the newest of them.

    Args:
        length_ns: how long the window is to be. It is shorter until the run has been watched that long, and
            longer by at most one reading.
    """

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._kept: deque[tuple[int, Profile]] = deque()

    def add(self, at_ns: int, profile: Profile) -> Span | None:
        """Take a reading in, and return the stretch that ends with it; None where it is the first.

        Args:
            at_ns: when it was taken, on a clock that never goes back.
            profile: what was read.
        """
        if self._kept and at_ns <= self._kept[-1][0]:
            return None
        # The start of the window is the newest reading that is old enough.
        while len(self._kept) > 1 and at_ns - self._kept[1][0] >= self._length_ns:
            self._kept.popleft()
        span = self._since_the_oldest(at_ns, profile)
        if span is None:
            self._kept.clear()
        if len(self._kept) < 2 or at_ns - self._kept[-2][0] >= self._length_ns // KEPT_IN_A_WINDOW:
            self._kept.append((at_ns, profile))
        else:  # read so often that the one before is not needed
            self._kept[-1] = (at_ns, profile)
        return span

    def forget(self) -> None:
        """Begin anew: nobody watched what comes between the last reading and the next."""
        self._kept.clear()

    def _since_the_oldest(self, at_ns: int, profile: Profile) -> Span | None:
        if not self._kept:
            return None
        began_ns, earlier = self._kept[0]
        try:
            return Span(difference(earlier, profile), at_ns - began_ns)
        except NotLaterError:  # recording was reset: there is nothing before this reading
            return None
