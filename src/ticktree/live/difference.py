"""What happened between two readings of one run, as a profile of its own.

What adds up is subtracted: calls, times, histograms, windows, losses. What does not add up, such as an extreme
or the worst ticks, is the later reading's as far as it must lie in between, and else the closest bound there
is. So the earlier profile and the difference merge to the later one. Two things are not so:

- Calls that are open are a state and not a sum: the difference has the later reading's.
- When a warm-up ends, all calls until then are moved aside. What is said of the calls in between is right, but
  of those of them that came before its end it may say that they were of the steady phase.
"""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.live.gauges_between import gauge_between
from ticktree.live.loops_between import loop_between
from ticktree.live.nodes_between import node_between
from ticktree.live.subtraction import NotLaterError, each_less, less
from ticktree.profile import CriticalPlace, Node, Profile


def difference(earlier: Profile, later: Profile) -> Profile:
    """Return what `later` has more than `earlier`, an earlier reading of the same run.

    Gauges that were not read in between are not in it.

    Raises:
        NotLaterError: `earlier` holds what `later` does not: recording was reset in between, or a process's
            file could not be read the second time.
    """
    return Profile(
        root=_tree(earlier.root, later.root),
        loops={path: loop_between(earlier.loops.get(path), loop) for path, loop in later.loops.items()},
        gauges=each_less(earlier.gauges, later.gauges, gauge_between),
        metadata=later.metadata,
        losses=less(earlier.losses, later.losses),
        writers=later.writers,
        critical=_critical(earlier.critical, later.critical),
        timeline_calls=later.timeline_calls - earlier.timeline_calls,
    )


def _tree(earlier: Node, later: Node) -> Node:
    # From the root down, pair the nodes that both trees have; then subtract from the leaves up.
    pairs = [(earlier, later, -1)]
    for place, (left, right, _) in enumerate(pairs):  # the list grows while it is walked
        if not left.children.keys() <= right.children.keys():
            raise NotLaterError("a node is gone")
        pairs.extend((child, right.children[name], place) for name, child in left.children.items())
    subtracted: list[dict[str, Node]] = [{} for _ in pairs]
    for left, right, parent in reversed(pairs[1:]):
        subtracted[parent][right.key] = node_between(left, right, subtracted.pop())
    return node_between(earlier, later, subtracted[0])


def _critical(
    earlier: Mapping[CriticalPlace, int], later: Mapping[CriticalPlace, int]
) -> dict[CriticalPlace, int]:
    """Return how the critical path went on; empty where it has turned out to be another one."""
    left = less(earlier, later)
    return left if earlier.keys() <= later.keys() and min(left.values(), default=1) > 0 else {}
