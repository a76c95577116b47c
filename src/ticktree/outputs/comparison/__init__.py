"""Views of a comparison: its parts, drawn as those of a profile are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.outputs import markdown, terminal
from ticktree.outputs.comparison.parts import parts
from ticktree.outputs.document import Heading
from ticktree.outputs.options import ViewOptions


def _terminal(comparison: Comparison, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    return terminal.draw(parts(comparison, apart, options), options)


def _markdown(comparison: Comparison, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    # A comment among others on a pull request: it says whose it is.
    return markdown.draw([Heading("ticktree compare", ()), *parts(comparison, apart, options)])


def _json(comparison: Comparison, apart: Sequence[Difference], _options: ViewOptions) -> bytes:
    facts = [fact.to_dict() for fact in apart]
    return json.dumps({**comparison.to_dict(), "differences": facts}, indent=1).encode() + b"\n"


COMPARISONS: dict[str, Callable[[Comparison, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
}
