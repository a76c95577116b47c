"""Call trees, as a lab book keeps them: `expression` | `Qualname` : `file` @ Lnnn, each call below its caller."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.notes import notes_on_calls
from ticktree.outputs.report.rows import Row, tree_rows
from ticktree.outputs.writing.formatting import count, counted, time
from ticktree.profile import Node, Profile
from ticktree.profile.short_names import Called


def focus_roots(profile: Profile) -> Iterator[tuple[Called, Node]]:
    """Yield the functions in focus that were called: what their names say, and their nodes."""
    for _, _, node in profile.root.walk():
        called = Called.of(node.name)
        if called is not None and not called.expression:
            yield called, node


def call_trees(profile: Profile, options: ViewOptions) -> Iterator[str]:
    """Yield the lines of a markdown document: the tree of each function in focus."""
    rows = tree_rows(profile, options)
    for at, row in enumerate(rows):
        called = _called(row)
        if called is None or called.expression:
            continue
        yield from ("", f"## Call tree of {_code(called.function)}", "")
        yield from _list(_with_all_below(rows[at:]), options)


def _with_all_below(rows: list[Row]) -> Iterable[Row]:
    yield rows[0]
    for row in rows[1:]:
        if len(row.guide) <= len(rows[0].guide):
            return
        yield row


def _list(rows: Iterable[Row], options: ViewOptions) -> Iterator[str]:
    top: int | None = None
    for row in rows:
        # Three characters of lines lead one level down.
        top = len(row.guide) if top is None else top
        yield f"{'  ' * ((len(row.guide) - top) // 3)}- {_title(row)} ({_figures(row, options)})"


def _called(row: Row) -> Called | None:
    return Called.of(row.name) if row.kind in ("section", "wait") else None


def _title(row: Row) -> str:
    called = _called(row)
    if called is None:
        return _code(row.name) if row.kind in ("section", "wait") else row.name
    title = _code(called.function)
    if called.expression:
        title = f"{_code(called.expression)} | {title}"
    if called.file:
        title += f" : {_code(called.file)}"
    return f"{title} @ L{called.line}"


def _figures(row: Row, options: ViewOptions) -> str:
    figures = [time(row.mean_ns)] if row.mean_ns is not None else []
    if row.stats.count and row.stats.is_known:
        figures += [f"p50 {time(row.stats.p50_ns)}", f"p99 {time(row.stats.p99_ns)}"]
    if row.calls is not None:
        figures.append(counted(row.calls, "call") if row.calls == 1 else f"{count(row.calls)} calls")
    if row.share is not None:
        figures.append(f"{100 * row.share:.3g}%")
    for node in row.nodes if row.kind in ("section", "wait") else ():
        figures += notes_on_calls(node, options)
    return ", ".join(figures)


def _code(text: str) -> str:
    """As code, whatever quotes are in it."""
    longest = max((len(quotes) for quotes in re.findall("`+", text)), default=0)
    quotes, space = "`" * (longest + 1), " " if longest else ""
    return f"{quotes}{space}{text}{space}{quotes}"
