"""Views of a comparison, one file a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeAlias

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.outputs.options import ViewOptions

FORMATS = ("terminal", "markdown", "json")

_Render: TypeAlias = Callable[[Comparison, Sequence[Difference], ViewOptions], bytes]


def render_comparison(
    name: str, comparison: Comparison, differences: Sequence[Difference], options: ViewOptions
) -> bytes:
    """Return a comparison in a format, and what else is not the same on the two sides.

    Args:
        name: One of `FORMATS`.
        comparison: The entries.
        differences: Facts that the sides do not share.
        options: How to show it.
    """
    render: _Render = import_module(f"ticktree.outputs.comparison.{name}").render
    return render(comparison, differences, options)
