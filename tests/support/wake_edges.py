"""The wake edges of profiles."""

from __future__ import annotations

import ticktree


def wakers(profile: ticktree.Profile, path: str) -> dict[tuple[str, str], int]:
    """How often each (channel, path that signalled) ended a wait at `path`."""
    counts: dict[tuple[str, str], int] = {}
    for waker, wakes in profile.root.at(path).wakers.items():
        key = (waker.channel, waker.path)
        counts[key] = counts.get(key, 0) + wakes.count
    return counts


def names(profile: ticktree.Profile) -> set[str]:
    """Of every node."""
    return {node.name for _, _, node in profile.root.walk()}
