"""Pages without scripts: their frame, tables, and figures. This module escapes the names passed to it."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table

# Nothing is fetched and nothing runs, even if a name contains HTML.
_STATIC = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def static_page(title: str, heading: str, download: tuple[str, bytes], body: Iterable[str]) -> bytes:
    """Return a page in UTF-8 without scripts.

    Args:
        title: of the page.
        heading: the command that made it.
        download: the name and the content of a JSON file with the same data.
        body: lines of HTML in which all names are escaped.
    """
    style = resources.files("ticktree.outputs.html").joinpath("history.css").read_text("utf-8")
    name, data = download
    packed = base64.b64encode(data).decode("ascii")
    lines = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta http-equiv="Content-Security-Policy" content="{_STATIC}">',
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">',
        f"<style>\n{style}</style>\n</head>\n<body>",
        f'<header><h1>{heading}</h1><a download="{name}"',
        f' href="data:application/json;base64,{packed}">JSON</a></header>',
        "<main>",
        *body,
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(lines).encode()


# A row's tone colours its verdict, not its name or its measured values.
_TONED = frozenset(["trend", "verdict", "shift"])


def open_scroll_box(label: str, classes: str = "") -> str:
    """Return the opening tag of what may be wider than the page; it can have the focus, so that keys scroll it."""
    name = f"scroll {classes}".strip()
    return f'<div class="{name}" tabindex="0" role="group" aria-label="{escape(label)}">'


def html_table(table: Table, drawings: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table; `drawings`, in HTML, replace the cells of the first column."""
    classes = ["" if head.words else "number" for head in table.heads]
    titles = "".join(_cell("th", name, head.title) for name, head in zip(classes, table.heads, strict=True))
    has_notes = any(entry.notes for entry in table.entries)
    heads = _cell("th", "words", table.noun) + titles + (_cell("th", "words", "notes") if has_notes else "")
    yield f"{open_scroll_box(f'Table: {table.noun}')}<table><thead><tr>{heads}</tr></thead><tbody>"
    for row, entry in enumerate(table.entries):
        yield f"<tr>{''.join(_cells(table, entry, classes, drawings[row] if drawings else '', has_notes))}</tr>"
    yield "</tbody></table></div>"


def _cells(
    table: Table, entry: Entry, classes: Sequence[str], drawing: str, has_notes: bool
) -> Iterator[str]:
    mark = f" <small>{escape(entry.mark)}</small>" if entry.mark else ""
    yield f'<td class="words">{escape(entry.name)}{mark}</td>'
    for column, (head, name, cell) in enumerate(zip(table.heads, classes, entry.cells, strict=True)):
        toned = f"{name} {entry.tone}".strip() if head.title in _TONED else name
        yield f'<td class="{toned}">{drawing}</td>' if drawing and not column else _cell("td", toned, cell)
    if has_notes:
        yield f'<td class="words"><small>{escape(" · ".join(entry.notes))}</small></td>'


def _cell(element: str, name: str, words: str) -> str:
    return f'<{element} class="{name}">{escape(words)}</{element}>'


FIGURE_WIDTH = 1000
# Lines of a grid, at most.
_LINES = 6


def _round_times(low_ns: float, high_ns: float) -> Iterator[int]:
    """Yield as many multiples of 1, 2 or 5 times a power of ten, in nanoseconds, as a grid may have lines."""
    min_step = max(1.0, (high_ns - low_ns) / _LINES)
    power = 10 ** math.floor(math.log10(min_step))
    step = next(int(power * factor) for factor in (1, 2, 5, 10) if power * factor >= min_step)
    yield from range(math.ceil(low_ns / step) * step, math.floor(high_ns) + 1, step)


@dataclass(frozen=True, slots=True)
class Plane:
    """The area of a figure, as wide as a page, with margins."""

    height: int
    left: int
    right: int
    top: int
    bottom: int

    def x(self, part: float) -> float:
        """Return the x coordinate of a fraction of the width."""
        return self.left + (FIGURE_WIDTH - self.left - self.right) * part

    def y(self, part: float) -> float:
        """Return the y coordinate of a fraction of the height, from the bottom up."""
        return self.top + (self.height - self.top - self.bottom) * (1 - part)

    def grid(self, low_ns: float, high_ns: float) -> Iterator[str]:
        """Yield lines across the area at round times between its lower and upper edge, with their times."""
        for ns in _round_times(low_ns, high_ns):
            y = self.y((ns - low_ns) / (high_ns - low_ns))
            yield line("grid", self.left, y, FIGURE_WIDTH - self.right, y)
            yield text(self.left - 8, y + 4, formatting.time(ns) if ns else "0", "end")

    def svg(self, about: str, parts: Iterable[str]) -> str:
        """Return the figure; `about` describes it for screen readers."""
        inside = "\n".join(parts)
        box = f'viewBox="0 0 {FIGURE_WIDTH} {self.height}"'
        return f'<svg {box} role="img" aria-label="{escape(about)}">\n{inside}\n</svg>'


def line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a line of a figure, with the CSS class `name`."""
    return f'<line class="{name}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "") -> str:
    """Return a text of a figure."""
    attribute = f' class="{name}"' if name else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def mark(x: float, y: float, radius: float, label: str) -> str:
    """Return a circle of a figure, with `words` as its tooltip."""
    circle = f'<circle class="run" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.3g}">'
    return f"{circle}<title>{escape(label)}</title></circle>"
