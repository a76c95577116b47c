"""Views of several runs side by side: variants of a program, one per column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.comparison.differences import differences
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.outputs import markdown, terminal
from ticktree.outputs.html.embedding import page
from ticktree.outputs.json import kind_of
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import deeper_levels
from ticktree.outputs.view import currency
from ticktree.outputs.view.headline import fact, headline, losses, title
from ticktree.outputs.view.loops import LOOPS, LoopRow
from ticktree.outputs.view.notes import share_of
from ticktree.outputs.view.tables import fill_row
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Heading, Losses, Part, Table, Tone
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import is_empty
from ticktree.profile.metadata import Value, ordered
from ticktree.profile.stats import rounded_ratio


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the runs, with its label."""

    label: str
    context: Context

    @property
    def profile(self) -> Profile:
        """The profile of the run."""
        return self.context.profile


def variants(runs: Sequence[tuple[str, Profile]], options: ViewOptions) -> list[Variant]:
    """Return runs, each with the name that the user gave, as variants with distinct labels."""
    labels = zip(_labels(runs), runs, strict=True)
    return [Variant(label, Context(profile, options.settings)) for label, (_, profile) in labels]


def _labels(runs: Sequence[tuple[str, Profile]]) -> list[str]:
    """Return the runs' titles if they differ, else the arguments if they do, else the names that the user gave."""
    profiles = [profile for _, profile in runs]
    titles, names = [title(profile) for profile in profiles], [visible(name) for name, _ in runs]
    for labels in (titles, _differing_arguments(profiles), names):
        if len(set(labels)) == len(labels):
            return labels
    numbers = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [f"{name} ({number})" if number > 1 else name for name, number in zip(names, numbers, strict=True)]


def _differing_arguments(profiles: Sequence[Profile]) -> list[str]:
    """Return each run's command line from the first differing word, with the option that it belongs to."""
    commands = [fact(profile, "command").split(" ") for profile in profiles]
    shared = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*commands, strict=False))))
    if shared and all(command[shared - 1].startswith("-") for command in commands):
        shared -= 1
    return [" ".join(command[shared:]) or "(without)" for command in commands]


def _differing_facts(runs: Sequence[Variant]) -> list[tuple[str, list[frozenset[Value]]]]:
    """Return each fact in which a run differs from the first, those that alone may change the times first."""
    first, *profiles = (run.profile for run in runs)
    grounds = {fact.key: fact.is_ground for other in profiles for fact in differences([first], [other])}
    keys = sorted(grounds, key=lambda key: (not grounds[key], key))
    return [(key, [run.profile.metadata.get(key, frozenset()) for run in runs]) for key in keys]


# The kinds of sections that can limit a loop. Slack does not, and a nested loop has sections itself.
_LIMITING_KINDS = ("work", "wait")


class _MainBottleneck(NamedTuple):
    """The largest bottleneck of the main loop, or of the run if it has no loop."""

    view: LoopView
    bottleneck: Bottleneck | None

    @property
    def name(self) -> str:
        name = "" if self.bottleneck is None else self.view.name_of(self.bottleneck.section)
        return visible(name)


def _main_bottleneck(context: Context) -> _MainBottleneck | None:
    """Return the largest bottleneck of the main loop; None if nothing was recorded."""
    view = next(iter(context.main_loops), None)
    if view is None:
        return None
    candidates = (
        bottleneck
        for bottleneck in context.bottlenecks
        if bottleneck.view is view
        and bottleneck.saving is not None
        and kind_of(bottleneck) in _LIMITING_KINDS
    )
    return _MainBottleneck(view, next(candidates, None))


Kind: TypeAlias = Literal["section", "self"]


@dataclass(frozen=True, slots=True)
class _VariantRow:
    """One row of the trees: a section, or the self time of one."""

    kind: Kind
    path: str  # of the section
    name: str  # the last name of the path, as in the program
    depth: int
    nodes: tuple[Node | None, ...]  # its node in each run; None in a run without such a section
    parents: tuple[Node | None, ...]  # the parents of these nodes

    def mean_ns(self, run: int) -> int | None:
        """Return the mean steady call in the run at index `place`; for a `self` row, the mean self time of a call."""
        node = self.nodes[run]
        if node is None:
            return None
        if self.kind == "self":
            return rounded_ratio(node.self_ns - node.recorder_ns, node.count) if node.count else None
        return node.steady.mean_ns if node.steady.count else None

    def share(self, run: int) -> float | None:
        node, parent = self.nodes[run], self.parents[run]
        if node is None or parent is None or parent.total_ns <= 0:
            return None
        if self.kind == "section":
            return share_of(node, parent)
        return (node.self_ns - node.recorder_ns) / parent.total_ns


def rows(profiles: Sequence[Profile]) -> list[_VariantRow]:
    """Return the rows, top to bottom; siblings by their longest time in any run."""
    roots = tuple(profile.root for profile in profiles)
    rows: list[_VariantRow] = []
    # A stack, because trees may be deeper than Python's recursion limit.
    to_visit = list(reversed(_child_rows(roots, paths.ROOT, 0)))
    while to_visit:
        row = to_visit.pop()
        rows.append(row)
        if row.kind == "section":
            to_visit += reversed(_child_rows(row.nodes, row.path, row.depth + 1))
    return rows


def _child_rows(nodes: tuple[Node | None, ...], path: str, depth: int) -> list[_VariantRow]:
    names = {name for node in nodes if node is not None for name in node.children}
    children = []
    for name in names:
        child_nodes = tuple(None if node is None else node.children.get(name) for node in nodes)
        children.append(_VariantRow("section", paths.child(path, name), name, depth, child_nodes, nodes))
    children.sort(key=lambda row: (-max(node.total_ns for node in row.nodes if node is not None), row.name))
    if children and path != paths.ROOT:
        parents = tuple(node if node is not None and node.children else None for node in nodes)
        children.append(_VariantRow("self", path, "[self]", depth, parents, parents))
    return children


_LOOP = (Head("the loop", 3, words=True), Head("tick", 1), Head("rate", 0))
_RUNS = (*_LOOP, Head("bottleneck", 2, words=True), Head("if free", 0))
_REMARK = (
    "Mean time of a steady call, and in [self] the mean self time. "
    "Run ticktree compare to tell differences from chance."
)


def parts(runs: Sequence[Variant], options: ViewOptions) -> Iterator[Part]:
    """Yield the parts of the view, top to bottom."""
    yield Heading(f"{formatting.counted(len(runs), 'run')} side by side", [run.label for run in runs])
    yield Table("runs", "run", _RUNS, [_run(run) for run in runs])
    heads = [Head(run.label, 0, words=True) for run in runs]
    facts = [Entry(key, [text or formatting.ABSENT for text in by_run]) for key, by_run in _facts(runs)]
    if facts:
        yield Table("not the same in all", "fact", heads, facts)
    yield from (_loop(path, runs) for path in _loops(runs))
    all_rows = rows([run.profile for run in runs])
    names = [paths.split(row.path) for row in all_rows]
    second, deeper = ({}, set()) if options.all else deeper_levels(names)
    entries = [
        _section(row, second.get(path, 0))
        for row, path in zip(all_rows, names, strict=True)
        if path not in deeper and (row.kind == "section" or path not in second)
    ]
    yield Table("sections", "section", [Head(run.label, 0) for run in runs], entries, remark=_REMARK)
    for run in runs:
        lost = losses(run.profile)
        if lost:
            yield Losses([f"{run.label}: {lost[0]}", *lost[1:]])


def _facts(runs: Sequence[Variant]) -> Iterator[tuple[str, list[str]]]:
    for key, by_run in _differing_facts(runs):
        yield visible(key), [", ".join(map(visible, map(str, ordered(values)))) for values in by_run]


def _loops(runs: Sequence[Variant]) -> list[str]:
    return sorted({path for run in runs for path in run.profile.loops})


def _run(run: Variant) -> Entry:
    main = _main_bottleneck(run.context)
    if main is None:
        return Entry(run.label, [formatting.ABSENT] * len(_RUNS), "faint")
    loop, tick = main.view.loop, formatting.time(round(main.view.tick_ns))
    name = visible(paths.display_text(loop.path)) if loop else "the run"
    pace = currency.pace(main.view) if loop else formatting.ABSENT
    cells = [name, tick, pace, main.name or formatting.ABSENT, _if_free(main)]
    return Entry(run.label, cells, "alarm" if loop is not None and loop.missed else "plain")


def _if_free(main: _MainBottleneck) -> str:
    """Return the rate of the loop, or the speedup of the run, without its bottleneck."""
    saving = None if main.bottleneck is None else main.bottleneck.saving
    if saving is None:
        return formatting.ABSENT
    if main.view.loop is None:
        return formatting.ABSENT if saving.speedup is None else formatting.factor(saving.speedup)
    return formatting.change(formatting.hertz(saving.hz), formatting.hertz(saving.free_hz))


def _loop(path: str, runs: Sequence[Variant]) -> Table:
    entries = []
    for run in runs:
        loop = run.profile.loops.get(path)
        if loop is None:
            entries.append(Entry(run.label, [formatting.ABSENT] * len(LOOPS)))
            continue
        entry = Entry(run.label, (), "alarm" if loop.missed else "plain")
        entries.append(fill_row(entry, LOOPS, LoopRow(loop, run.context.view_of(path), run.context.run_ns)))
    title = f"loop {visible(paths.display_text(path))}"
    return Table(title, title, [column.head for column in LOOPS], entries)


def _section(row: _VariantRow, levels: int) -> Entry:
    guide = "  " * row.depth
    cells = [formatting.time(row.mean_ns(run)) for run in range(len(row.nodes))]
    waits = any(node and node.wait for node in row.nodes)
    tone: Tone = "quiet" if row.kind == "self" else "wait" if waits else "plain"
    notes = [f"and {formatting.counted(levels, 'level')} of recursion in it"] if levels else []
    return Entry(visible(row.name) or '""', cells, tone, notes=notes, guide=guide, trunk=guide)


_STATS = ("count", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")


def _page(runs: Sequence[Variant], options: ViewOptions) -> bytes:
    document = {
        "runs": [_run_fields(run) for run in runs],
        "loops": [_loop_fields(path, runs) for path in _loops(runs)],
        "rows": [_row_fields(row) for row in rows([run.profile for run in runs])],
    }
    empty = ["nothing was recorded"]
    texts = {
        "title": f"{formatting.counted(len(runs), 'run')} side by side",
        "headline": [run.label for run in runs],
        "headlines": [empty if is_empty(run.profile) else headline(run.context, options) for run in runs],
        "losses": [losses(run.profile) for run in runs],
        "facts": [{"key": key, "of": by_run} for key, by_run in _facts(runs)],
    }
    return page("runs", "variants", json.dumps(document, separators=(",", ":")).encode(), texts)


def _run_fields(run: Variant) -> dict[str, Any]:
    fields: dict[str, Any] = {"label": run.label, "pace": formatting.ABSENT, "bottleneck": None}
    main = _main_bottleneck(run.context)
    if main is None:
        return fields
    fields["pace"] = currency.pace(main.view)
    if main.bottleneck is not None:
        noun = currency.noun(main.view)
        text = f"{formatting.share(main.bottleneck.share)} of each {noun}; without it {_if_free(main)}"
        fields["bottleneck"] = {"name": main.name, "words": text}
    return fields


def _loop_fields(path: str, runs: Sequence[Variant]) -> dict[str, Any]:
    table = _loop(path, runs)
    loops = [run.profile.loops.get(path) for run in runs]
    return {
        "title": visible(paths.display_text(path)),
        "heads": [head.title for head in table.heads],
        "rows": [
            {"label": entry.name, "cells": entry.cells, "tone": entry.tone, "spread": _spread(loop)}
            for entry, loop in zip(table.entries, loops, strict=True)
        ],
    }


def _spread(loop: Loop | None) -> dict[str, Any] | None:
    if loop is None or not loop.stats.count:
        return None
    fields = {name: getattr(loop.stats, name) for name in ("p50_ns", "p99_ns", "max_ns")}
    return {**fields, "budget_ns": loop.budget_ns}


def _row_fields(row: _VariantRow) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in ("kind", "path", "name", "depth")},
        "wait": any(node.wait for node in row.nodes if node is not None),
        "of": [_cell_fields(row, run, node) for run, node in enumerate(row.nodes)],
    }


def _cell_fields(row: _VariantRow, run: int, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    if row.kind == "self":
        return {"mean_ns": row.mean_ns(run), "share": row.share(run)}
    site = node.call_site
    steady = {name: getattr(node.steady, name) for name in _STATS} if node.steady.count else {"count": 0}
    location = f"{visible(site.file)}:{site.line}" if site is not None and site.file else None
    return {**steady, "total_ns": node.total_ns, "share": row.share(run), "site": location}


VARIANTS: dict[str, Callable[[Sequence[Variant], ViewOptions], bytes]] = {
    "terminal": lambda runs, options: terminal.draw(parts(runs, options), options),
    "markdown": lambda runs, options: markdown.draw(parts(runs, options)),
    "html": _page,
}
