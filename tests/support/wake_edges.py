"""What profiles say of who ended waits."""

from __future__ import annotations

import ticktree


def wakers(profile: ticktree.Profile, path: str) -> dict[tuple[str, str], int]:
    """How often each (channel, path that signalled) ended a wait at `path`."""
    found: dict[tuple[str, str], int] = {}
    for waker, wakes in profile.root.at(path).wakers.items():
        key = (waker.channel, waker.path)
        found[key] = found.get(key, 0) + wakes.count
    return found


def names(profile: ticktree.Profile) -> set[str]:
    """Of every node."""
    return {node.name for _, _, node in profile.root.walk()}
