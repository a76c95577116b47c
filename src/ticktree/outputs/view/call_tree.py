"""Call trees, as a lab book keeps them: `expression` | `Qualname` : `file` @ Lnnn, each call below its caller."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.recursion import flattened
from ticktree.outputs.view.notes import notes_on_calls
from ticktree.outputs.view.tree import TreeRow, tree_rows
from ticktree.outputs.writing.formatting import count, counted, time
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile.short_names import Called

# Calls of less of their function's time are shown only where all is asked for.
LEAST_SHARE = 0.001


def focus_roots(profile: Profile) -> Iterator[tuple[Called, Node]]:
    """Yield the functions in focus that were called: what their names say, and their nodes."""
    for _, _, node in profile.root.walk():
        called = Called.of(node.name)
        if called is not None and not called.expression:
            yield called, node


def call_trees(profile: Profile, options: ViewOptions) -> Iterator[str]:
    """Yield the lines of a markdown document: the tree of each function in focus."""
    if not any(focus_roots(profile)):
        return
    whole = Profile(root=profile.root if options.all else flattened(profile.root))
    rows = tree_rows(Survey(whole).run)
    for at, row in enumerate(rows):
        called = _called(row)
        if called is None or called.expression:
            continue
        yield from ("", f"## Call tree of {_code(visible(called.function))}", "")
        yield from _list(_with_all_below(rows[at:]), options)


def _with_all_below(rows: Sequence[TreeRow]) -> Sequence[TreeRow]:
    top = rows[0].depth
    end = next((at for at, row in enumerate(rows) if at and row.depth <= top), len(rows))
    return rows[:end]


def _list(rows: Sequence[TreeRow], options: ViewOptions) -> Iterator[str]:
    top = rows[0]
    for row in rows:
        share = row.ns / top.ns if top.ns else 0.0
        if options.all or share >= LEAST_SHARE:
            yield f"{'  ' * (row.depth - top.depth)}- {_title(row)} ({_figures(row, share)})"


def _called(row: TreeRow) -> Called | None:
    return Called.of(row.names[0]) if row.kind in ("section", "wait") else None


def _title(row: TreeRow) -> str:
    called = _called(row)
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
    figures.append(counted(stats.count, "call") if stats.count == 1 else f"{count(stats.count)} calls")
    figures.append(f"{100 * share:.3g}%")
    return ", ".join([*figures, *notes_on_calls(row.node)])


def _code(text: str) -> str:
    """As code, whatever quotes are in it."""
    longest = max((len(quotes) for quotes in re.findall("`+", text)), default=0)
    quotes, space = "`" * (longest + 1), " " if longest else ""
    return f"{quotes}{space}{text}{space}{quotes}"
