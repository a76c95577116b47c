"""The terminal's view: the tree, the loops, the gauges, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ticktree.outputs import columns
from ticktree.outputs.columns import Column
from ticktree.outputs.grid import GAP, SEPARATOR, Head, Line, cut, drawn
from ticktree.outputs.headline import NOTHING, headline, is_empty, losses, title
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.rows import Kind, Row, tree_rows
from ticktree.outputs.visible import visible
from ticktree.outputs.worst import pace, worst_ticks
from ticktree.profile import Loop, Profile

BAR_CELLS = 8
LEAST_WIDTH = 40

_NAME_STYLES: dict[Kind, str] = {
    "section": "",
    "wait": "blue",
    "unaccounted": "dim italic",
    "folded": "dim",
    "itself": "dim italic",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"

Item = TypeVar("Item")


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return what `ticktree report` and the end of `ticktree run` print, in UTF-8."""
    lines = list(_lines(profile, options, max(LEAST_WIDTH, options.width)))
    return encoded(lines, options.color)


def _lines(profile: Profile, options: ViewOptions, width: int) -> Iterator[Text]:
    yield from _headline(profile, options, width)
    yield Text()
    if is_empty(profile):
        yield from wrapped(NOTHING.split(" "), " ", width)
    else:
        yield from _tree(profile, options, width)
    if profile.loops:
        yield Text()
        yield from _loops(profile, options, width)
    if profile.gauges:
        yield Text()
        yield from _gauges(profile, width)
    lost = losses(profile)
    if lost:
        yield Text()
        yield from wrapped(lost, ", ", width, "yellow")


def _headline(profile: Profile, options: ViewOptions, width: int) -> Iterator[Text]:
    pieces = [title(profile), *headline(profile, options)]
    first, *rest = wrapped(pieces, GAP + " ", width)
    first.stylize("bold", 0, len(cut(pieces[0], width)))
    yield first
    yield from rest


def wrapped(pieces: Sequence[str], between: str, width: int, style: str = "") -> Iterator[Text]:
    """Yield `pieces` on as few lines as they need, later lines moved in a little."""
    line = cut(pieces[0], width)
    for piece in pieces[1:]:
        if cell_len(line + between + piece) <= width:
            line += between + piece
        else:
            yield Text(line, style)
            line = GAP + cut(piece, width - len(GAP))
    yield Text(line, style)


def _tree(profile: Profile, options: ViewOptions, width: int) -> Iterator[Text]:
    heads = [Head("", 4, left=True, style="cyan"), *_heads(columns.TREE)]
    lines = [
        Line(
            name=row.name,
            mark=row.mark,
            cells=[_bar(row.share), *(column.text(row) for column in columns.TREE)],
            notes=row.notes,
            guide=row.guide,
            trunk=row.trunk,
            style=_style(row),
            quiet=row.kind not in ("section", "wait"),
        )
        for row in tree_rows(profile, options)
    ]
    yield from drawn("", heads, lines, width)


def _style(row: Row) -> str:
    return "bold" if row.kind == "section" and not row.guide else _NAME_STYLES[row.kind]


def _loops(profile: Profile, options: ViewOptions, width: int) -> Iterator[Text]:
    loops = sorted(profile.loops.values(), key=lambda loop: (-loop.busy_ns, loop.path))
    heading, *rows = drawn("loops", _heads(columns.LOOPS), list(map(_loop, loops)), width)
    yield heading
    for loop, row in zip(loops, rows, strict=True):
        yield row
        yield from _about(profile, loop, options, width)


def _loop(loop: Loop) -> Line:
    cells = [column.text(loop) for column in columns.LOOPS]
    return Line(visible(loop.path), cells, style="red" if loop.missed else "")


def _about(profile: Profile, loop: Loop, options: ViewOptions, width: int) -> Iterator[Text]:
    for pieces in (pace(loop), *worst_ticks(profile, loop, options)):
        if pieces:
            for line in wrapped(pieces, SEPARATOR, width - len(GAP)):
                yield Text.assemble(GAP, line)


def _gauges(profile: Profile, width: int) -> Iterator[Text]:
    gauges = [profile.gauges[name] for name in sorted(profile.gauges)]
    lines = [Line(visible(gauge.name), [column.text(gauge) for column in columns.GAUGES]) for gauge in gauges]
    yield from drawn("gauges", _heads(columns.GAUGES), lines, width)


def _heads(shown: Sequence[Column[Item]]) -> list[Head]:
    return [Head(column.title, column.rank) for column in shown]


def _bar(share: float | None) -> str:
    """Return a bar as long as `share` of its cells, to an eighth of a cell; of more than all, a full one."""
    eighths = round(min(max(share or 0.0, 0.0), 1.0) * BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def encoded(lines: Sequence[Text], color: bool) -> bytes:
    """Return the lines as a terminal takes them, in UTF-8."""
    if not color:
        return "".join(f"{line.plain}\n" for line in lines).encode()
    # Nothing is asked of the environment: the same profile and options give the same bytes everywhere.
    console = Console(
        file=StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        width=10_000,
    )
    with console.capture() as captured:
        for line in lines:
            console.print(line, soft_wrap=True)
    return captured.get().encode()
