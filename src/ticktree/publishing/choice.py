"""Which sections are published: a database of metrics pays for each of them as long as it keeps them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ticktree.profile import Profile

SECTIONS_AT_MOST = 1000


class PublishedSections:
    """The sections that are told of, up to a number: once told of, always told of.

    Those that took the most time when there was still room came in first.

    Args:
        at_most: how many there may be.
    """

    def __init__(self, at_most: int = SECTIONS_AT_MOST) -> None:
        self._at_most = at_most
        self._paths: set[str] = set()

    @property
    def paths(self) -> AbstractSet[str]:
        """Those chosen so far."""
        return frozenset(self._paths)

    def extend(self, profile: Profile) -> None:
        """Choose among the sections of a profile, as long as there is room."""
        room = self._at_most - len(self._paths)
        if room > 0:
            new = [(path, node) for path, _, node in profile.root.walk() if path and path not in self._paths]
            new.sort(key=lambda pair: (-pair[1].total_ns, pair[0]))
            self._paths.update(path for path, _ in new[:room])

    def left_out(self, profile: Profile) -> tuple[int, int]:
        """Return how many sections are not told of, and their own time together."""
        others = [node.self_ns for path, _, node in profile.root.walk() if path and path not in self._paths]
        return len(others), sum(others)
