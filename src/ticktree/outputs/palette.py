"""Colours of categories: the same in every picture, and told apart by those who see fewer colours."""

from __future__ import annotations

import zlib

from ticktree.analysis.bottlenecks.category_shares import OTHER
from ticktree.analysis.categories import WAITING

# The first six are of Okabe and Ito, Color Universal Design, 2008. What waits, and what is unknown, is no hue.
_COLORS = {
    "training": "#0072b2",
    "model": "#e69f00",
    "environment": "#009e73",
    "policy": "#d55e00",
    "data": "#56b4e9",
    "rendering": "#cc79a7",
    "preprocessing": "#7a5195",
    "robot": "#8c6d31",
    "network": "#3d7f86",
    "logging": "#b0486a",
}
_QUIET = {WAITING: "#b9bec7", OTHER: "#8a8f98"}


def color_of(category: str) -> str:
    """Return the colour of a category as #rrggbb; of one that a project made up, always the same as well."""
    known = {**_COLORS, **_QUIET}.get(category)
    if known is not None:
        return known
    every = list(_COLORS.values())
    return every[zlib.crc32(category.encode("utf-8", "backslashreplace")) % len(every)]
