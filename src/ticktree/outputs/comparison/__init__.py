"""Views of a comparison: its parts, drawn as those of a profile are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ticktree.analysis.comparison import Comparison, Difference
from ticktree.outputs import markdown, terminal
from ticktree.outputs.comparison import html
from ticktree.outputs.comparison.parts import parts
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing.document import Heading


def _terminal(comparison: Comparison, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    return terminal.draw(parts(comparison, apart, options), options)


def _markdown(comparison: Comparison, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    # A comment among others on a pull request: it says whose it is.
    return markdown.draw([Heading("ticktree compare", ()), *parts(comparison, apart, options)])


def _json(comparison: Comparison, apart: Sequence[Difference], _options: ViewOptions) -> bytes:
    return json.dumps(_document(comparison, apart), indent=1).encode() + b"\n"


def _html(comparison: Comparison, apart: Sequence[Difference], _options: ViewOptions) -> bytes:
    return html.render(comparison, apart, _document(comparison, apart))


def _document(comparison: Comparison, apart: Sequence[Difference]) -> dict[str, Any]:
    return {**comparison.to_dict(), "differences": [fact.to_dict() for fact in apart]}


COMPARISONS: dict[str, Callable[[Comparison, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
    "html": _html,
}
