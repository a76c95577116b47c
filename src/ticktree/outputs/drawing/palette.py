"""The colours of categories: the same in every picture. `palette.json` has them; the HTML report is built from it.

Found by search: of hues that were given, the shades that are furthest apart to readers with all cones and to those who
lack any one kind (`report-ui/tests/palette.test.ts` looks at them with their eyes).
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

Theme: TypeAlias = Literal["light", "dark"]

# FNV-1a, over the two bytes that JavaScript counts a text in: the front end has no other hash at hand.
_HASH_START, _HASH_FACTOR = 2166136261, 16777619


def color_of(category: str, theme: Theme = "light") -> str:
    """Return the colour of a category as #rrggbb; of one that a project made up, always the same as well."""
    known = _colors()
    named = known["named"]
    found = known["quiet"].get(category) or named.get(category)
    return (found or list(named.values())[_hashed(category) % len(named)])[theme]


@cache
def _colors() -> dict[str, dict[str, dict[Theme, str]]]:
    text = resources.files("ticktree.outputs.drawing").joinpath("palette.json").read_text("utf-8")
    colors: dict[str, dict[str, dict[Theme, str]]] = json.loads(text)
    return colors


def _hashed(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    value = _HASH_START
    for at in range(0, len(units), 2):
        value = (value ^ int.from_bytes(units[at : at + 2], "little")) * _HASH_FACTOR & 0xFFFFFFFF
    return value
