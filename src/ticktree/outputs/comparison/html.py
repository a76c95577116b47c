"""The comparison as a page: what `--format json` says of it, and the words that go with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.analysis.comparison.about import About
from ticktree.outputs.comparison.parts import remarks
from ticktree.outputs.html.embedding import page
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile.metadata import ordered

# Where it ran: what the two sides have in common of it stands in the heading, what not among the differences.
_WHERE = ("host", "cpu", "system", "python")


def render(comparison: Comparison, apart: Sequence[Difference], document: dict[str, Any]) -> bytes:
    """Return the page in UTF-8.

    Args:
        comparison: the entries.
        apart: facts that the sides do not share.
        document: both as `--format json` has them.
    """
    names = [_name(comparison.base), _name(comparison.new)]
    words = {
        "title": names[0] if names[0] == names[1] else f"{names[0]} \N{RIGHTWARDS ARROW} {names[1]}",
        "headline": list(_pieces(comparison)),
        "remarks": list(remarks(comparison)),
        "grounds": [fact.is_ground for fact in apart],
    }
    return page("runs", "comparison", json.dumps(document, separators=(",", ":")).encode(), words)


def _name(side: About) -> str:
    return ", ".join(map(visible, side.names)) or "ticktree"


def _pieces(comparison: Comparison) -> Iterator[str]:
    base, new = comparison.base, comparison.new
    commands = base.metadata.get("command")
    if commands and commands == new.metadata.get("command"):
        yield ", ".join(visible(str(command)) for command in ordered(commands))
    if base.runs:
        yield f"{formatting.counted(base.runs, 'run')} of the base, {formatting.count(new.runs)} new"
    for key in _WHERE:
        values = base.metadata.get(key)
        if values and values == new.metadata.get(key):
            words = ", ".join(visible(str(value)) for value in ordered(values))
            yield f"Python {words}" if key == "python" else words
