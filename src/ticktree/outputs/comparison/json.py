"""The machine's view of a comparison."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.outputs.options import ViewOptions


def render(
    comparison: Comparison,
    differences: Sequence[Difference],
    options: ViewOptions,  # noqa: ARG001 - a program reads all or nothing
) -> bytes:
    """Return the comparison as JSON and a newline."""
    facts = [
        {"key": difference.key, "base": difference.base, "new": difference.new} for difference in differences
    ]
    return json.dumps({**comparison.to_dict(), "differences": facts}, indent=1).encode() + b"\n"
