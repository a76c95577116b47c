"""Leaving out what a run has nothing to say of: sections that were entered before a reset only, or never."""

from __future__ import annotations

from dataclasses import replace

from ticktree.profile import Node, Profile
from ticktree.profile import path as paths


def without_blanks(profile: Profile) -> Profile:
    """The profile without nodes that have no call, completed or open, no time and nothing below them.

    Their loops go with them, and so do the threads that were started in them.

    Args:
        profile: Of a whole run: what is blank in one process's file need not be in another's.
    """
    begun = {path for path, loop in profile.loops.items() if loop.ticks or loop.incomplete}
    finished: dict[str, Node] = {}
    for path, _, node in reversed(list(profile.root.walk())):
        below = {key: finished.pop(paths.child(path, key), None) for key in node.children}
        kept = {key: child for key, child in below.items() if child is not None}
        if kept or not path or path in begun or not _is_blank(node):
            same = all(kept.get(key) is child for key, child in node.children.items())
            finished[path] = node if same else replace(node, children=kept)
    root = finished[paths.ROOT]
    if root is profile.root:
        return profile
    return replace(
        profile,
        root=root,
        loops={path: loop for path, loop in profile.loops.items() if root.find(path) is not None},
        writers={key: each for key, each in profile.writers.items() if root.find(each.parent) is not None},
    )


def _is_blank(node: Node) -> bool:
    return not (node.count or node.open or node.self_ns or node.concurrent_ns or node.wakers)
