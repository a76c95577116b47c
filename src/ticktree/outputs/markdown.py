"""The markdown view, for a pull request or a lab book: the same rows as the terminal's, in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ticktree.outputs import columns
from ticktree.outputs.columns import Column
from ticktree.outputs.headline import NOTHING, headline, is_empty, losses, title
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.rows import Row, tree_rows
from ticktree.outputs.visible import visible
from ticktree.outputs.worst import pace, worst_ticks
from ticktree.profile import Loop, Profile

# What could be taken for emphasis, code, a link, a table's cell or mathematics, wherever it stands; and for a
# heading, a list or a rule, where it stands first.
_ANYWHERE = re.compile(r"([\\`*_\[\]|~$])")
_FIRST = re.compile(r"^(\s*)([#+=:-]|\d+(?=[.)](?:\s|$)))")

Item = TypeVar("Item")


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a markdown document in UTF-8."""
    return "\n".join(_lines(profile, options)).encode() + b"\n"


def escaped(text: str) -> str:
    """Return `text`, already safe to show, such that markdown takes every character of it literally."""
    html = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _FIRST.sub(_escaped_first, _ANYWHERE.sub(r"\\\1", html))


def _escaped_first(match: re.Match[str]) -> str:
    space, special = match.groups()
    return f"{space}{special}\\" if special.isdigit() else f"{space}\\{special}"


def _lines(profile: Profile, options: ViewOptions) -> Iterator[str]:
    yield f"# {escaped(title(profile))}"
    yield ""
    yield escaped(" · ".join(headline(profile, options)))
    yield ""
    if is_empty(profile):
        yield NOTHING
    else:
        yield from _tree(profile, options)
    yield from _loops(profile, options)
    yield from _gauges(profile)
    lost = losses(profile)
    if lost:
        yield ""
        yield f"**{escaped(', '.join(lost))}**"


def _tree(profile: Profile, options: ViewOptions) -> Iterator[str]:
    rows = tree_rows(profile, options)
    cells = ([_name(row), *_cells(columns.TREE, row), escaped(" · ".join(row.notes))] for row in rows)
    yield from table(["section", *_titles(columns.TREE), ""], len(columns.TREE), cells)


def _name(row: Row) -> str:
    """Return the name behind its lines, whose spaces would be lost if they were not unbreakable."""
    guide = row.guide.replace(" ", "\u00a0")
    name = escaped(row.name)
    styled = {"section": f"**{name}**" if not guide else name, "wait": name}.get(row.kind, f"*{name}*")
    return f"{guide}{styled} ({row.mark})" if row.mark else f"{guide}{styled}"


def _loops(profile: Profile, options: ViewOptions) -> Iterator[str]:
    loops = sorted(profile.loops.values(), key=lambda loop: (-loop.busy_ns, loop.path))
    if not loops:
        return
    yield ""
    cells = ([escaped(visible(loop.path)), *_cells(columns.LOOPS, loop)] for loop in loops)
    yield from table(["loop", *_titles(columns.LOOPS)], len(columns.LOOPS), cells)
    for loop in loops:
        yield from _about(profile, loop, options)


def _about(profile: Profile, loop: Loop, options: ViewOptions) -> Iterator[str]:
    said = [pieces for pieces in (pace(loop), *worst_ticks(profile, loop, options)) if pieces]
    if said:
        yield ""
        yield f"{escaped(visible(loop.path))}:"
        yield ""
        yield from (f"- {escaped(' · '.join(pieces))}" for pieces in said)


def _gauges(profile: Profile) -> Iterator[str]:
    gauges = [profile.gauges[name] for name in sorted(profile.gauges)]
    if gauges:
        yield ""
        cells = ([escaped(visible(gauge.name)), *_cells(columns.GAUGES, gauge)] for gauge in gauges)
        yield from table(["gauge", *_titles(columns.GAUGES)], len(columns.GAUGES), cells)


def _titles(shown: Sequence[Column[Item]]) -> list[str]:
    return [column.title for column in shown]


def _cells(shown: Sequence[Column[Item]], item: Item) -> list[str]:
    return [column.text(item).replace(" ", "\u00a0") for column in shown]


def table(titles: Sequence[str], numbers: int, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table whose first column is text, the next `numbers` are numbers, and any other is text."""
    rules = ["---", *["--:"] * numbers, *["---"] * (len(titles) - numbers - 1)]
    for cells in (titles, rules, *rows):
        yield f"| {' | '.join(cells)} |"
