"""Views of checked budgets: their parts, drawn as those of a profile are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ticktree.analysis.budgets import Checked
from ticktree.analysis.comparison import Difference
from ticktree.outputs import markdown, terminal
from ticktree.outputs.budgets.parts import parts
from ticktree.outputs.budgets.wording import line, verdict
from ticktree.outputs.options import ViewOptions

__all__ = ["CHECKS", "line", "verdict"]


def _terminal(checked: Checked, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    return terminal.draw(parts(checked, apart, options), options)


def _markdown(checked: Checked, apart: Sequence[Difference], options: ViewOptions) -> bytes:
    return markdown.draw(parts(checked, apart, options))


def _json(checked: Checked, apart: Sequence[Difference], _options: ViewOptions) -> bytes:
    facts = [fact.to_dict() for fact in apart]
    return json.dumps({**checked.to_dict(), "differences": facts}, indent=1).encode() + b"\n"


CHECKS: dict[str, Callable[[Checked, Sequence[Difference], ViewOptions], bytes]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _json,
}
