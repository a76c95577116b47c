"""The markdown view, for a pull request or a lab book: the parts of the terminal view, in tables and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ticktree.analysis.context import Context
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import flattened
from ticktree.outputs.view.build import report_view
from ticktree.outputs.view.model import report_parts
from ticktree.outputs.view.notes import notes_on_calls
from ticktree.outputs.view.tree import TreeRow, tree_rows
from ticktree.outputs.writing import document
from ticktree.outputs.writing.formatting import counted, time
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile.short_names import FocusCall

# Wider tables are cut off, or scrolled, where markdown is read.
MAX_COLUMNS = 14

# Characters that could begin emphasis, code, a link, a table's cell or mathematics anywhere; and a heading, a list or
# a rule at the beginning of a line.
_ANYWHERE = re.compile(r"([\\`*_\[\]|~$])")
_MENTION = re.compile(r"@(?=\w)")
_FIRST = re.compile(r"^(\s*)([#+=:-]|\d+(?=[.)](?:\s|$)))")

_EMPHASIS: dict[document.Tone, str] = {"strong": "**", "quiet": "*", "faint": "*"}


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile as a markdown document in UTF-8."""
    # Its readers have no command line to see the rest.
    view = report_view(Context(profile, options.settings), replace(options, run=None))
    trees = "\n".join(call_trees(profile, options))
    return draw(report_parts(view)) + (f"{trees}\n".encode() if trees else b"")


def draw(parts: Iterable[document.Part]) -> bytes:
    """Return parts one below the other as a markdown document in UTF-8."""
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else []), *_draw_part(part)]
    return "\n".join(lines).encode() + b"\n"


def escaped(text: str) -> str:
    """Return `text`, already safe to show, escaped so that markdown takes every character literally."""
    html = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    literal = _FIRST.sub(_escape_first, _ANYWHERE.sub(r"\\\1", html))
    # On a pull request, an @ before a name notifies its user; the HTML comment between them is invisible.
    return _MENTION.sub("@<!-- -->", literal)


def _escape_first(match: re.Match[str]) -> str:
    space, special = match.groups()
    return f"{space}{special}\\" if special.isdigit() else f"{space}\\{special}"


def _draw_part(part: document.Part) -> Iterator[str]:
    if isinstance(part, document.Heading):
        yield f"# {escaped(part.title)}"
        if part.pieces:
            yield from ("", escaped(" · ".join(part.pieces)))
    elif isinstance(part, document.Table):
        # The empty lines end the HTML: the text between them is markdown again.
        yield from (f"<details><summary>{escaped(part.folded)}</summary>", "") if part.folded else ()
        yield from _table(part)
        yield from ("", "</details>") if part.folded else ()
    elif isinstance(part, document.EmptyNotice):
        yield part.text
    elif isinstance(part, document.Losses):
        yield f"**{escaped(', '.join(part.pieces))}**"
    elif isinstance(part, document.Picture):
        yield from _picture(part)
    elif isinstance(part, document.Lines):
        yield from _lines(part)
    else:
        yield from _listing(part)


def _lines(part: document.Lines) -> Iterator[str]:
    strong = "**" if part.tone in ("strong", "alarm", "warning") else ""
    for i, pieces in enumerate(part.lines):
        ends = "  " if i < len(part.lines) - 1 else ""  # two spaces end the line, not the paragraph
        first, *rest = map(escaped, pieces)
        yield " · ".join([f"{strong}{first}{strong}", *rest]) + ends


def _listing(part: document.Listing) -> Iterator[str]:
    yield from (f"## {part.title}", "")
    for number, item in enumerate(part.items, start=1):
        lead = f"**{escaped(item.lead)}** " if item.lead else ""
        yield f"{number}. {lead}{escaped(item.text)}  "  # two spaces end the line, not the item
        yield f"   *{escaped(' · '.join(item.about))}*"
    if part.more:
        yield from ("", f"*{escaped(part.more)}*")


def _picture(part: document.Picture) -> Iterator[str]:
    lines = ["".join(text for text, _ in line).rstrip() for line in part.lines]
    # No name can end a code block that begins with more backquotes than the document contains in a row.
    fence = "`" * max(3, _max_backquotes("\n".join(lines)) + 1)
    yield from (f"{fence}text", *lines, fence)


def _table(part: document.Table) -> Iterator[str]:
    if part.narrower is not None and len(part.heads) > MAX_COLUMNS:
        yield from _table(part.narrower)
        return
    # The tree, which has no title, always has a column for notes; other tables only if there are any.
    has_notes = not part.title or any(entry.notes for entry in part.entries)
    titles = [escaped(part.noun), *(escaped(head.title) for head in part.heads), *([""] if has_notes else [])]
    rules = ["---", *("---" if head.words else "--:" for head in part.heads), *(["---"] if has_notes else [])]
    yield _row(titles)
    yield _row(rules)
    for entry in part.entries:
        notes = [escaped(" · ".join(entry.notes))] if has_notes else []
        yield _row([_name(entry), *_cells(part, entry), *notes])
    for entry in part.entries:
        if entry.about:
            yield from ("", f"{escaped(entry.name)}:", "")
            yield from (f"- {escaped(' · '.join(pieces))}" for pieces in entry.about)
    if part.remark:
        yield from ("", escaped(part.remark))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(entry: document.Entry) -> str:
    """Return the name after its tree lines, with no-break spaces, because markdown drops others."""
    guide = entry.guide.replace(" ", "\u00a0")
    emphasis = _EMPHASIS.get(entry.tone, "")
    styled = f"{emphasis}{escaped(entry.name)}{emphasis}"
    return f"{guide}{styled} ({entry.mark})" if entry.mark else f"{guide}{styled}"


def _cells(part: document.Table, entry: document.Entry) -> Iterator[str]:
    for head, cell in zip(part.heads, entry.cells, strict=True):
        yield escaped(cell) if head.words else cell.replace(" ", "\u00a0")


# Calls of a smaller share of their function's time are shown only with `--all`.
MIN_SHARE = 0.001


def focus_roots(profile: Profile) -> Iterator[tuple[FocusCall, Node]]:
    """Yield the functions in focus that were called: their parsed names, and their nodes."""
    for _, _, node in profile.root.walk():
        called = FocusCall.of(node.name)
        if called is not None and not called.expression:
            yield called, node


def call_trees(profile: Profile, options: ViewOptions) -> Iterator[str]:
    """Yield the lines of a markdown document: the tree of each function in focus."""
    if not any(focus_roots(profile)):
        return
    flat = Profile(root=profile.root if options.all else flattened(profile.root))
    rows = tree_rows(Context(flat).run)
    for i, row in enumerate(rows):
        called = _parse_name(row)
        if called is None or called.expression:
            continue
        yield from ("", f"## Call tree of {_code(visible(called.function))}", "")
        yield from _list(rows[i:], options)


def _list(rows: Sequence[TreeRow], options: ViewOptions) -> Iterator[str]:
    top = rows[0]
    for row in rows:
        if row is not top and row.depth <= top.depth:
            break
        share = row.ns / top.ns if top.ns else 0.0
        if options.all or share >= MIN_SHARE:
            yield f"{'  ' * (row.depth - top.depth)}- {_title(row)} ({_figures(row, share)})"


def _parse_name(row: TreeRow) -> FocusCall | None:
    return FocusCall.of(row.names[0]) if row.kind in ("section", "wait") else None


def _title(row: TreeRow) -> str:
    called = _parse_name(row)
    if called is None:
        return _code(visible(row.names[0])) if row.kind in ("section", "wait") else row.names[0]
    title = _code(visible(called.function))
    if called.expression:
        title = f"{_code(visible(called.expression))} | {title}"
    if called.file:
        title += f" : {_code(visible(called.file))}"
    return f"{title} @ L{called.line}"


def _figures(row: TreeRow, share: float) -> str:
    stats = row.node.steady
    if row.kind == "self":
        return f"{100 * share:.3g}%"
    figures = [time(stats.mean_ns)] if stats.mean_ns is not None else []
    if stats.count and stats.is_known:
        figures += [f"p50 {time(stats.p50_ns)}", f"p99 {time(stats.p99_ns)}"]
    return ", ".join(
        [*figures, counted(stats.count, "call"), f"{100 * share:.3g}%", *notes_on_calls(row.node)]
    )


def _max_backquotes(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _code(text: str) -> str:
    """Return text as code, even if it contains backquotes."""
    longest = _max_backquotes(text)
    quotes, space = "`" * (longest + 1), " " if longest else ""
    return f"{quotes}{space}{text}{space}{quotes}"
