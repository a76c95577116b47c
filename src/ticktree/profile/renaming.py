"""Renaming: the same profile with other ids for its threads and its run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ticktree.profile.measures import Share, Waker, Wakes
from ticktree.profile.node import Node
from ticktree.profile.profile import Profile
from ticktree.profile.thread import CriticalNode, Thread

# Returns a thread's new id, given its old one.
_Rename = Callable[[str], str]

_NO_THREADS: dict[str, Any] = {"by_thread": {}, "wakers": {}}


def rename_threads(
    profile: Profile, name: _Rename | None, threads: Mapping[str, Thread], run: str | None = None
) -> Profile:
    """Return `profile` with other ids for its threads; threads with the same new id are merged.

    Args:
        profile: the profile to rename.
        name: returns the new id for an old one; None drops all data by thread.
        threads: the threads by new id.
        run: the id of the run, into which the parts of several runs are merged; None keeps the runs.
    """
    if name is None:
        root = _map_tree(profile.root, lambda node: {**_NO_THREADS, "per_run": _rename_runs(run, node)})
        return replace(profile, root=root, threads={}, critical={})
    critical: dict[CriticalNode, int] = defaultdict(int)
    for place, ns in profile.critical.items():
        critical[CriticalNode(name(place.thread), place.path)] += ns
    root = _map_tree(
        profile.root, lambda node: {**_rename_threads(node, name), "per_run": _rename_runs(run, node)}
    )
    return replace(profile, root=root, threads=dict(threads), critical=dict(critical))


def _map_tree(root: Node, change: Callable[[Node], dict[str, Any]]) -> Node:
    """Return the tree with every node changed, without recursion because trees are deep."""
    children_of: dict[int, dict[str, Node]] = defaultdict(dict)
    order = [(root, -1)]
    for index, (node, _) in enumerate(order):  # the list grows while it is walked
        order.extend((child, index) for child in node.children.values())
    for index in range(len(order) - 1, -1, -1):
        node, parent = order[index]
        children = children_of.pop(index, {})
        children = {key: children[key] for key in node.children}  # in the original order
        children_of[parent][node.key] = replace(node, children=children, **change(node))
    return children_of[-1][root.key]


def _rename_threads(node: Node, name: _Rename) -> dict[str, Any]:
    shares: dict[str, Share] = defaultdict(Share)
    for thread, share in node.by_thread.items():
        shares[name(thread)] += share
    wakers: dict[Waker, Wakes] = {}
    for waker, wakes in node.wakers.items():
        renamed_waker = waker._replace(thread=name(waker.thread), by=name(waker.by))
        wakers[renamed_waker] = wakers[renamed_waker] + wakes if renamed_waker in wakers else wakes
    return {"by_thread": dict(shares), "wakers": wakers}


def _rename_runs(run: str | None, node: Node) -> Mapping[str, tuple[int, int]]:
    """Return each run's part of a node; with a `run`, all parts as that run's."""
    parts = node.per_run.values()
    if run is None or not parts:
        return node.per_run
    return {run: (sum(count for count, _ in parts), sum(ns for _, ns in parts))}
