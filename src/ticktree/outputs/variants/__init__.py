"""Views of several runs side by side: variants of a program, each a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ticktree.outputs import markdown, terminal
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.variants import html
from ticktree.outputs.variants.parts import parts
from ticktree.outputs.variants.variant import Variant, variants


def _terminal(runs: Sequence[Variant], options: ViewOptions) -> bytes:
    return terminal.draw(parts(runs, options), options)


def _markdown(runs: Sequence[Variant], options: ViewOptions) -> bytes:
    return markdown.draw(parts(runs, options))


VARIANTS: dict[str, Callable[[Sequence[Variant], ViewOptions], bytes]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "html": html.render,
}

__all__ = ["VARIANTS", "Variant", "variants"]
