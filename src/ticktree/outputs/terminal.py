"""The terminal view: the parts one below the other, fitted to the terminal's width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ticktree.analysis.context import Context
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.build import TEXT_LINES, report_view
from ticktree.outputs.view.model import report_parts
from ticktree.outputs.writing import document, grid
from ticktree.outputs.writing.grid import GAP, SEPARATOR, cut
from ticktree.profile import Profile

MIN_WIDTH = 40
_PIECE_GAP = "   "  # pieces of one line


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the report that `ticktree report` and `ticktree run` print, in UTF-8."""
    view = report_view(Context(profile, options.settings), options)
    return draw(report_parts(view), options)


def draw(parts: Iterable[document.Part], options: ViewOptions) -> bytes:
    """Return parts one below the other, for a terminal, in UTF-8."""
    width = max(MIN_WIDTH, options.width)
    lines: list[Text] = []
    for part in parts:
        is_apart = bool(lines) and (not isinstance(part, document.Lines) or part.is_apart)
        lines += [*([Text()] if is_apart else []), *_draw_part(part, width, options)]
    return _encode(lines, options.color)


def _draw_part(part: document.Part, width: int, options: ViewOptions) -> Iterator[Text]:
    if isinstance(part, document.Heading):
        first, *rest = wrap([part.title, *part.pieces], _PIECE_GAP, width)
        first.stylize("bold", 0, len(cut(part.title, width)))
        yield from (first, *rest)
    elif isinstance(part, document.Table):
        yield from _table(part, width)
    elif isinstance(part, document.EmptyNotice):
        yield from wrap(part.text.split(" "), " ", width)
    elif isinstance(part, document.Losses):
        yield from wrap(part.pieces, ", ", width, "yellow")
    elif isinstance(part, document.Picture):
        for pieces in part.lines:
            text = Text.assemble(*((piece, grid.STYLES[tone]) for piece, tone in pieces))
            text.rstrip()
            yield text
    elif isinstance(part, document.Lines):
        yield from _lines(part, width, options)
    else:
        yield from _listing(part, width, options)


def wrap(pieces: Sequence[str], gap: str, width: int, style: str = "", hang: str = GAP) -> Iterator[Text]:
    """Yield `pieces` on as few lines as possible; later lines begin with `hang`."""
    line = cut(pieces[0], width)
    for piece in pieces[1:]:
        if cell_len(line + gap + piece) <= width:
            line += gap + piece
        else:
            yield Text(line, style)
            line = hang + cut(piece, width - len(hang))
    yield Text(line, style)


def _table(part: document.Table, width: int) -> Iterator[Text]:
    if part.narrower is not None and not grid.fits(part, width):
        yield from _table(part.narrower, width)
        return
    heading, *rows = grid.draw_table(part, width)
    yield from heading
    for entry, row in zip(part.entries, rows, strict=True):
        yield from row
        for pieces in entry.about:
            yield from (Text.assemble(GAP, line) for line in wrap(pieces, SEPARATOR, width - len(GAP)))
    if part.remark:
        yield from wrap(part.remark.split(" "), " ", width, "dim", hang="")


def _lines(part: document.Lines, width: int, options: ViewOptions) -> Iterator[Text]:
    """Yield each line after its mark; a sentence may take several lines, and `--all` shows all of it."""
    for pieces in part.lines:
        room = width - cell_len(part.mark)
        pieces_and_gap = (pieces, _PIECE_GAP) if len(pieces) > 1 else (pieces[0].split(" "), " ")
        lines = list(wrap(*pieces_and_gap, room, grid.STYLES[part.tone], hang="" if part.mark else GAP))
        for i, line in enumerate(lines if options.all or len(pieces) > 1 else _shorten(lines, room)):
            mark = " " * cell_len(part.mark) if i else part.mark
            yield Text.assemble((mark, grid.STYLES[part.tone]), line)


def _listing(part: document.Listing, width: int, options: ViewOptions) -> Iterator[Text]:
    """Yield each recommendation after its number and its saving, and below it, dim, its evidence."""
    yield Text(part.title, "bold")
    for number, item in enumerate(part.items, start=1):
        mark = f"{number:>2}  "
        room = width - len(mark)
        words = [*([item.lead, ""] if item.lead else []), *item.text.split(" ")]
        lines = list(wrap(words, " ", room, hang=""))
        lines[0].stylize("bold", 0, len(item.lead))
        evidence = list(wrap(item.about, SEPARATOR, room, "dim", hang="")) if item.about else []
        shown = [*lines, *evidence] if options.all else [*_shorten(lines, room), *evidence[:1]]
        for i, line in enumerate(shown):
            yield Text.assemble((" " * len(mark) if i else mark, "bold"), line)
    if part.more:
        yield Text(" " * 4 + part.more, "dim")


def _shorten(lines: list[Text], room: int) -> list[Text]:
    """Return the lines that a sentence may take on a screen, the last one with a mark if there are more."""
    if len(lines) <= TEXT_LINES:
        return lines
    last = lines[TEXT_LINES - 1]
    words = [*last.plain.split(" "), "…"]
    while len(words) > 2 and cell_len(" ".join(words)) > room:
        del words[-2]
    return [*lines[: TEXT_LINES - 1], Text(cut(" ".join(words), room), last.style)]


def _encode(lines: Sequence[Text], color: bool) -> bytes:
    if not color:
        return "".join(f"{line.plain}\n" for line in lines).encode()
    # The environment is ignored: the same profile and options give the same bytes everywhere.
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
