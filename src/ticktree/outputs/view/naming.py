"""Naming: what nodes and workers are called in a sentence."""

from __future__ import annotations

from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


def last_name(path: str, names: ShortNames) -> str:
    """Return what a reader knows the node at `path` by.

    Args:
        path: of the node.
        names: what nodes are called for short.
    """
    return names.of(paths.name_of(path)) or "no section"


def who(name: str, count: int) -> str:
    """Return what several of one name are called: "4 x actor"; one is just "actor"."""
    return name if count == 1 else f"{count:,} x {name}"
