"""The notebook view: the first screen of the report as HTML, without a script, in the notebook's colours.

Text has the notebook's colour, so that it is readable in light and dark themes; only bars and edges have fixed
colours. Where a viewer removes the style, as GitHub does, plain tables and lists remain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from ticktree.analysis.context import Context
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.terminal import draw
from ticktree.outputs.view.build import report_view
from ticktree.outputs.view.model import report_parts
from ticktree.outputs.writing.document import EmptyNotice, Entry, Heading, Lines, Listing, Part, Table, Tone
from ticktree.outputs.writing.grid import SEPARATOR, cut
from ticktree.profile import Profile

# A program may choose names of any length: a notebook must stay small.
NAME_CELLS = 80
TEXT_CELLS = 800
TEXT_COLUMNS = 80
# `ticktree doctor` in a shell cannot examine a notebook.
NOTHING = (
    "Nothing was recorded: begin the cell with %%ticktree, or call ticktree.enable() before what you record."
)

_STYLE = """
.ticktree{font-size:13px;line-height:1.5;max-width:72em}
.ticktree p{margin:0 0 .3em}
.ticktree .about{opacity:.75}
.ticktree ol{margin:0 0 .8em;padding-left:2em}
.ticktree table{border-collapse:collapse;font-size:inherit;margin:.2em 0 .8em;border:0}
.ticktree th,.ticktree td{padding:0 0 0 1.2em;text-align:right;white-space:nowrap;border:0;font-weight:normal}
.ticktree thead th{opacity:.75}
.ticktree th:first-child{padding-left:.4em;text-align:left;white-space:pre}
.ticktree thead th:first-child{opacity:1;font-weight:bold}
.ticktree td.words{text-align:left}
.ticktree .guide{font-family:monospace;opacity:.6}
.ticktree .bar{width:9em;padding:0 0 0 1.2em}
.ticktree .bar i{display:block;height:.75em;background:#5b86d6}
.ticktree .alarm{border-left:4px solid #e5484d;padding-left:.5em;font-weight:bold}
.ticktree .warning{border-left:4px solid #d99a1c;padding-left:.5em}
.ticktree .strong{font-weight:bold}
.ticktree .quiet,.ticktree .faint{opacity:.75}
""".strip().replace("\n", "")


def html(profile: Profile) -> str:
    """Return the first screen of the report as an HTML fragment."""
    body = "".join(piece for part in _parts(profile) for piece in _draw_part(part))
    return f'<div class="ticktree"><style>{_STYLE}</style>{body}</div>'


def text(profile: Profile) -> str:
    """Return the first screen of the report as plain text, for a notebook without HTML."""
    return draw(_parts(profile), ViewOptions(width=TEXT_COLUMNS)).decode().rstrip("\n")


def _parts(profile: Profile) -> Iterator[Part]:
    view = report_view(Context(profile), ViewOptions())
    return report_parts(replace(view, nothing=NOTHING) if view.nothing else view)


def _draw_part(part: Part) -> Iterator[str]:
    if isinstance(part, Heading):
        yield f"<p><b>{_text(part.title)}</b> <span class=about>{_pieces(part.pieces)}</span></p>"
    elif isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, EmptyNotice):
        yield f"<p>{_text(part.text)}</p>"
    elif isinstance(part, Lines):
        yield from (f"<p{_class(part.tone)}>{_pieces(pieces)}</p>" for pieces in part.lines)
    elif isinstance(part, Listing):
        yield from _listing(part)


def _listing(part: Listing) -> Iterator[str]:
    yield f"<p><b>{_text(part.title)}</b></p><ol>"
    for item in part.items:
        lead = f"<b>{_text(item.lead)}</b> " if item.lead else ""
        yield f"<li>{lead}{_text(item.text)}<br><span class=about>{_pieces(item.about)}</span></li>"
    yield "</ol>"
    if part.more:
        yield f"<p class=faint>{_text(part.more)}</p>"


def _table(part: Table) -> Iterator[str]:
    has_bars = part.bar_rank is not None
    heads = "".join(f'<th title="{_text(head.help)}">{_text(head.title)}</th>' for head in part.heads)
    bars = "<th></th>" if has_bars else ""
    yield f"<table><thead><tr><th>{_text(part.title or part.noun)}</th>{bars}{heads}</tr></thead><tbody>"
    for entry in part.entries:
        percent = 100 * min(max(entry.share or 0.0, 0.0), 1.0)
        bar = f'<td class=bar><i style="width:{percent:.1f}%"></i></td>' if has_bars else ""
        notes = f"<td class=words>{_pieces(entry.notes)}</td>" if entry.notes else ""
        cells = "".join(
            f"<td{' class=words' if head.words else ''}>{_text(cell)}</td>"
            for head, cell in zip(part.heads, entry.cells, strict=True)
        )
        yield f"<tr><th>{_name(entry)}</th>{bar}{cells}{notes}</tr>"
    yield "</tbody></table>"
    if part.remark:
        yield f"<p class=faint>{_text(part.remark)}</p>"


def _name(entry: Entry) -> str:
    guide = f"<span class=guide>{_text(entry.guide)}</span>" if entry.guide else ""
    mark = f" ({_text(entry.mark)})" if entry.mark else ""
    return f"{guide}<span{_class(entry.tone)}>{escape(cut(entry.name, NAME_CELLS))}</span>{mark}"


def _class(tone: Tone) -> str:
    return "" if tone == "plain" else f" class={tone}"


def _pieces(pieces: Sequence[str]) -> str:
    return _text(SEPARATOR.join(pieces))


def _text(content: str) -> str:
    return escape(cut(content, TEXT_CELLS))
