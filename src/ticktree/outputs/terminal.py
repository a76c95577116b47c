"""The terminal's view: the parts one below the other, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.advice import evidence, more, said
from ticktree.outputs.report.parts import parts
from ticktree.outputs.writing import grid
from ticktree.outputs.writing.bars import bar
from ticktree.outputs.writing.document import (
    Advice,
    Dismissed,
    Entry,
    Heading,
    Losses,
    Nothing,
    Part,
    Picture,
    Table,
    Tone,
)
from ticktree.outputs.writing.grid import GAP, SEPARATOR, cut
from ticktree.profile import Profile

LEAST_WIDTH = 40
WORDS_CELLS = (
    18  # of a name among numbers: with a share and the least of a row's own name, it fits the least width
)

_LEAD = " " * 4  # as wide as a number before a finding

_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "wait": "blue",
    "quiet": "dim italic",
    "faint": "dim",
    "alarm": "red",
    "good": "green",
}


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return what `ticktree report` and the end of `ticktree run` print, in UTF-8."""
    return draw(parts(profile, options), options)


def draw(shown: Iterable[Part], options: ViewOptions) -> bytes:
    """Return parts one below the other, as a terminal takes them, in UTF-8."""
    width = max(LEAST_WIDTH, options.width)
    lines: list[Text] = []
    for part in shown:
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
    elif isinstance(part, Dismissed):
        yield from _dismissed(part, width)
    elif isinstance(part, Picture):
        yield from map(_pieces, part.lines)
    else:
        yield from _advice(part, width)


def _pieces(line: Sequence[tuple[str, Tone]]) -> Text:
    text = Text.assemble(*((piece, _STYLES[tone]) for piece, tone in line))
    text.rstrip()
    return text


def _heading(part: Heading, width: int) -> Iterator[Text]:
    first, *rest = _wrapped([part.title, *part.pieces], GAP + " ", width)
    first.stylize("bold", 0, len(cut(part.title, width)))
    yield first
    yield from rest


def _wrapped(
    pieces: Sequence[str], between: str, width: int, style: str = "", hang: str = GAP
) -> Iterator[Text]:
    """Yield `pieces` on as few lines as they need, later lines behind `hang`."""
    line = cut(pieces[0], width)
    for piece in pieces[1:]:
        if cell_len(line + between + piece) <= width:
            line += between + piece
        else:
            yield Text(line, style)
            line = hang + cut(piece, width - len(hang))
    yield Text(line, style)


def _table(part: Table, width: int) -> Iterator[Text]:
    heads = [grid.Head(head.title, head.rank, left=head.words) for head in part.heads]
    if part.bar_rank is not None:
        heads.insert(0, grid.Head("", part.bar_rank, left=True, style="cyan"))
    lines = [_line(part, entry) for entry in part.entries]
    if part.narrower is not None and not grid.fits(part.title, heads, lines, width):
        yield from _table(part.narrower, width)
        return
    heading, *drawn = grid.drawn(part.title, heads, lines, width)
    yield from heading
    for entry, row in zip(part.entries, drawn, strict=True):
        yield from row
        for pieces in entry.about:
            yield from (Text.assemble(GAP, line) for line in _wrapped(pieces, SEPARATOR, width - len(GAP)))
    if part.remark:
        yield from _wrapped(part.remark.split(" "), " ", width, "dim", hang="")


def _line(part: Table, entry: Entry) -> grid.Line:
    cells = [
        cut(cell, WORDS_CELLS) if head.words else cell
        for head, cell in zip(part.heads, entry.cells, strict=True)
    ]
    return grid.Line(
        name=entry.name,
        short=entry.short,
        mark=entry.mark,
        cells=[*_bar(part, entry), *cells],
        notes=entry.notes,
        guide=entry.guide,
        trunk=entry.trunk,
        style=_STYLES[entry.tone],
        quiet=entry.tone in ("quiet", "faint"),
    )


def _bar(part: Table, entry: Entry) -> list[str]:
    return [] if part.bar_rank is None else [bar(entry.share)]


def _advice(part: Advice, width: int) -> Iterator[Text]:
    """Yield each piece of advice behind its number, and below it, dim, what it rests on."""
    yield Text("Worth doing", "bold")
    for number, finding in enumerate(part.findings, start=1):
        lead = f"{number:>2}  "
        room = width - len(lead)
        lines = [
            *_wrapped(said(finding).split(" "), " ", room, hang=""),
            *_wrapped(evidence(finding), SEPARATOR, room, "dim", hang=""),
        ]
        for at, line in enumerate(lines):
            yield Text.assemble((" " * len(lead) if at else lead, "bold"), line)
    if part.more:
        yield Text(_LEAD + more(part), "dim")


def _dismissed(part: Dismissed, width: int) -> Iterator[Text]:
    yield Text("Not worth doing", "bold")
    for sentence in part.sentences:
        for line in _wrapped(sentence.split(" "), " ", width - len(_LEAD), hang=""):
            yield Text.assemble(_LEAD, line)


def _encoded(lines: Sequence[Text], color: bool) -> bytes:
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
