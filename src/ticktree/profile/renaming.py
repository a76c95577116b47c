"""Renaming: the same profile with other names for its writers, and for the run that it is of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ticktree.profile.measures import Share, Waker, Wakes
from ticktree.profile.node import Node
from ticktree.profile.profile import Profile
from ticktree.profile.writer import CriticalPlace, Writer

# The new id of a writer, for its old one.
_Name = Callable[[str], str]

_NOBODYS: dict[str, Any] = {"by_writer": {}, "wakers": {}}


def renamed(
    profile: Profile, name: _Name | None, writers: Mapping[str, Writer], run: str | None = None
) -> Profile:
    """Return `profile` with other ids for its writers; writers with the same new id are merged.

    Args:
        profile: what is renamed.
        name: gives the new id for an old one; None drops everything known by writer.
        writers: all that the new ids name.
        run: the run that it is of from now on, its parts of several merged; None keeps the runs.
    """
    if name is None:
        bare = _tree(profile.root, lambda node: {**_NOBODYS, "per_run": _of(run, node)})
        return replace(profile, root=bare, writers={}, critical={})
    critical: dict[CriticalPlace, int] = defaultdict(int)
    for place, ns in profile.critical.items():
        critical[CriticalPlace(name(place.writer), place.path)] += ns
    root = _tree(profile.root, lambda node: {**_named(node, name), "per_run": _of(run, node)})
    return replace(profile, root=root, writers=dict(writers), critical=dict(critical))


def _tree(root: Node, change: Callable[[Node], dict[str, Any]]) -> Node:
    """The tree with every node changed; not by recursion: trees are deep."""
    below: dict[int, dict[str, Node]] = defaultdict(dict)
    order = [(root, -1)]
    for at, (node, _) in enumerate(order):  # the list grows while it is walked
        order.extend((child, at) for child in node.children.values())
    for at in range(len(order) - 1, -1, -1):
        node, parent = order[at]
        children = below.pop(at, {})
        # In the order in which they were.
        done = replace(node, children={key: children[key] for key in node.children}, **change(node))
        below[parent][node.key] = done
    return below[-1][root.key]


def _named(node: Node, name: _Name) -> dict[str, Any]:
    shares: dict[str, Share] = defaultdict(Share)
    for writer, share in node.by_writer.items():
        shares[name(writer)] += share
    wakers: dict[Waker, Wakes] = {}
    for waker, wakes in node.wakers.items():
        at = waker._replace(writer=name(waker.writer), by=name(waker.by))
        wakers[at] = wakers[at] + wakes if at in wakers else wakes
    return {"by_writer": dict(shares), "wakers": wakers}


def _of(run: str | None, node: Node) -> Mapping[str, tuple[int, int]]:
    """What each run had of a node; with the name of one, that one all of it."""
    parts = node.per_run.values()
    if run is None or not parts:
        return node.per_run
    return {run: (sum(count for count, _ in parts), sum(ns for _, ns in parts))}
