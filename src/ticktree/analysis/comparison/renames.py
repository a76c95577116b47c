"""Renames: nodes that seem to be the same under another name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from ticktree.profile import Node
from ticktree.profile import path as paths

# The same work has the same calls; how long it takes is what may have changed, but hardly by more. Among several that
# are within that, one that takes about as long is more likely than those that do not.
_LIKE, _UNLIKE = 1.25, 3.0


def renames(
    gone: Sequence[str],
    come: Sequence[str],
    base: Callable[[str], Node | None],
    new: Callable[[str], Node | None],
) -> dict[str, str]:
    """What vanished, by path, and what appeared in its place: under the same parent, and like nothing else there.

    Args:
        gone: Paths only in base.
        come: Paths only in new.
        base: A node of base by its path.
        new: A node of new by its path.
    """
    before, after = _by_parent(gone), _by_parent(come)
    found: dict[str, str] = {}
    for parent in before.keys() & after.keys():
        for factor in (_LIKE, _UNLIKE):
            likely = {
                path: [
                    other
                    for other in after[parent]
                    if other not in found.values() and _alike(base(path), new(other), factor)
                ]
                for path in before[parent]
                if path not in found
            }
            found.update(_only_ones(likely))
    return found


def _only_ones(likely: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Of what may have become which, what can have become but one that nothing else can have become."""
    return {
        path: others[0]
        for path, others in likely.items()
        if len(others) == 1 and sum(others[0] in theirs for theirs in likely.values()) == 1
    }


def _by_parent(all_paths: Sequence[str]) -> dict[str, list[str]]:
    grouped = defaultdict(list)
    for path in all_paths:
        grouped[paths.parent(path)].append(path)
    return grouped


def _alike(left: Node | None, right: Node | None, factor: float) -> bool:
    if left is None or right is None or left.wait != right.wait:
        return False
    longer, shorter = sorted((left.steady.mean_ns or 1, right.steady.mean_ns or 1), reverse=True)
    same_shape = left.children.keys() == right.children.keys() and bool(left.children)
    return left.steady.count == right.steady.count and (same_shape or longer <= factor * shorter)
