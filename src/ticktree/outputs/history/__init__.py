"""Views of a history: its parts, drawn as those of a profile are; a page; a picture."""

from __future__ import annotations

import json
from collections.abc import Callable

from ticktree.analysis.history import History
from ticktree.outputs import markdown, terminal
from ticktree.outputs.history import html
from ticktree.outputs.history.parts import parts
from ticktree.outputs.history.wording import regression
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing.document import Heading

__all__ = ["BINARY", "HISTORIES", "regression"]


def _terminal(history: History, options: ViewOptions) -> bytes:
    return terminal.draw(parts(history, options), options)


def _markdown(history: History, options: ViewOptions) -> bytes:
    # A comment among others on a pull request: it says whose it is.
    return markdown.draw([Heading("ticktree history", ()), *parts(history, options)])


def _json(history: History, _options: ViewOptions) -> bytes:
    return json.dumps(history.to_dict(), indent=1).encode() + b"\n"


def _png(history: History, options: ViewOptions) -> bytes:
    from ticktree.outputs.history.chart import chart  # draws with a library that few need

    return chart(history, options, "png")


def _svg(history: History, options: ViewOptions) -> bytes:
    from ticktree.outputs.history.chart import chart

    return chart(history, options, "svg")


HISTORIES: dict[str, Callable[[History, ViewOptions], bytes]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
    "html": html.render,
    "png": _png,
    "svg": _svg,
}
# Those that are no text.
BINARY = ("png",)
