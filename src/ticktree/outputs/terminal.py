"""The terminal's view: the parts one below the other, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ticktree.outputs import grid
from ticktree.outputs.advice import advice
from ticktree.outputs.document import Advice, Entry, Heading, Losses, Nothing, Part, Table, Tone
from ticktree.outputs.grid import GAP, SEPARATOR, cut
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.parts import parts
from ticktree.profile import Profile

BAR_CELLS = 8
LEAST_WIDTH = 40

_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "wait": "blue",
    "quiet": "dim italic",
    "faint": "dim",
    "alarm": "red",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return what `ticktree report` and the end of `ticktree run` print, in UTF-8."""
    width = max(LEAST_WIDTH, options.width)
    lines: list[Text] = []
    for part in parts(profile, options):
        lines += [*([Text()] if lines else []), *_drawn(part, width)]
    return _encoded(lines, options.color)


def _drawn(part: Part, width: int) -> Iterator[Text]:
    if isinstance(part, Heading):
        yield from _heading(part, width)
    elif isinstance(part, Table):
        yield from _table(part, width)
    elif isinstance(part, Nothing):
        yield from _wrapped(part.text.split(" "), " ", width)
    elif isinstance(part, Losses):
        yield from _wrapped(part.pieces, ", ", width, "yellow")
    else:
        yield from _advice(part, width)


def _heading(part: Heading, width: int) -> Iterator[Text]:
    first, *rest = _wrapped([part.title, *part.pieces], GAP + " ", width)
    first.stylize("bold", 0, len(cut(part.title, width)))
    yield first
    yield from rest


def _wrapped(pieces: Sequence[str], between: str, width: int, style: str = "") -> Iterator[Text]:
    """Yield `pieces` on as few lines as they need, later lines moved in a little."""
    line = cut(pieces[0], width)
    for piece in pieces[1:]:
        if cell_len(line + between + piece) <= width:
            line += between + piece
        else:
            yield Text(line, style)
            line = GAP + cut(piece, width - len(GAP))
    yield Text(line, style)


def _table(part: Table, width: int) -> Iterator[Text]:
    heads = [grid.Head(head.title, head.rank, left=head.words) for head in part.heads]
    if part.bars:
        heads.insert(0, grid.Head("", 4, left=True, style="cyan"))
    lines = [_line(entry, part.bars) for entry in part.entries]
    if part.narrower is not None and not grid.fits(part.title, heads, lines, width):
        yield from _table(part.narrower, width)
        return
    heading, *drawn = grid.drawn(part.title, heads, lines, width)
    yield heading
    for entry, row in zip(part.entries, drawn, strict=True):
        yield from row
        for pieces in entry.about:
            yield from (Text.assemble(GAP, line) for line in _wrapped(pieces, SEPARATOR, width - len(GAP)))
    if part.remark:
        yield from _wrapped(part.remark.split(" "), " ", width, "dim")
