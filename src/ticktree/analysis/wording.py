"""Wording: figures and names as they stand in a sentence."""

from __future__ import annotations

from ticktree.profile import path as paths


def times(factor: float) -> str:
    """Return how many times, such as "1.9 x"."""
    return f"{factor:.1f} x" if factor < 9.95 else f"{factor:,.0f} x"


def percent(share: float) -> str:
    """Return a part of 1 as a whole percentage."""
    return f"{100 * share:.0f}%"


def last_name(path: str) -> str:
    """Return what a reader knows the node at `path` by."""
    return paths.name_of(path) or "no section"


def who(name: str, count: int) -> str:
    """Return what several of one name are called: "4 x actor"; one is just "actor"."""
    return name if count == 1 else f"{count:,} x {name}"
