"""The tree of a mean tick, and of the run: rows with shares of the loop's tick, not of their parent's time.

The run's tree can have one column per process, thread or role; for many of them, their minimum, median and maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from ticktree.analysis.loops import LoopView, SectionView
from ticktree.analysis.machine import Ceilings, fastest_machine
from ticktree.analysis.sampled import SampledTime
from ticktree.analysis.workers.roles import By, Worker, amounts, roles, spread
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.notes import is_age, mark_of, notes_of
from ticktree.outputs.view.sampled import MARK, ROWS_SHOWN, function_title, is_worth_rows, notes
from ticktree.outputs.view.tables import Column, largest, needed, table_of, workers_title
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.formatting import capitalized
from ticktree.outputs.writing.grid import guides
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile, Stats
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames

Kind: TypeAlias = Literal["section", "wait", "self", "itself", "sampled"]

# Rows of a smaller share of the tick are shown only with `--all`.
MIN_SHARE = 0.01
# A [self] row needs at least this share of its section's time.
MIN_SELF_SHARE = 0.05
# A section with a smaller share on the loop's path is concurrent, and all its time is shown.
ON_PATH_SHARE = 0.5
_BAR_RANK = 4
TONES: dict[Kind, Tone] = {
    "section": "plain",
    "wait": "wait",
    "self": "quiet",
    "itself": "quiet",
    "sampled": "quiet",
}
# Self time of a smaller share of the tick is not divided by function.
MIN_SAMPLED_SHARE = 0.05
CHAIN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A node of a mean tick, or the self time of one.

    Attributes:
        kind: a section, a wait, the self time of a section, the cost of ticktree itself, or a sampled function.
        path: of the node.
        names: of the node, or of all nodes in a chain of only children.
        node: the node; the first node of a chain.
        ns: per tick, or in the run.
        share: of the tick, or of the run.
        weight: the share of the longest of it and all its descendants, by which rows are chosen.
        calls: per tick, or in the run.
        stats: of the calls that ticks consist of.
        mark: the section's kind, if that changes what its numbers mean.
        depth: number of ancestors with rows.
        self_path: path of the node whose self time the row has; the last node of a chain.
        self_share: that self time as a share of the tick, or of the run.
        notes: on a sampled function.
    """

    kind: Kind
    path: str
    names: tuple[str, ...]
    node: Node
    ns: float
    share: float
    weight: float
    calls: float = 0.0
    stats: Stats = field(default_factory=Stats)
    mark: str = ""
    depth: int = 0
    self_path: str = ""
    self_share: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Branch:
    """A section of a tick, its time, and the longest time of it and its descendants."""

    section: SectionView
    ns: float
    largest_ns: float
    below: list[_Branch] = field(default_factory=list)


def tree_rows(
    view: LoopView,
    *,
    min_share: float = 0.0,
    fold: bool = False,
    max_rows: int | None = None,
    sampled: Mapping[str, SampledTime] | None = None,
) -> list[TreeRow]:
    """Return the rows of a loop's mean tick, or of the run, top to bottom, the largest of each parent's first.

    Args:
        view: the loop, or the run.
        min_share: rows of a smaller share are left out.
        fold: whether only children are folded into their parents' rows.
        max_rows: maximum number of rows, the largest ones; None for all.
        sampled: the sampled self time, by path.
    """
    if not view.sections:
        return []
    top = _branches(view)
    min_ns = min_share * view.tick_ns
    rows: list[TreeRow] = []
    stack: list[tuple[_Branch, int]] = [(top, 0)]
    while stack:
        branch, depth = stack.pop()
        chain = _chain(branch, min_ns) if fold and depth else [branch]
        last = chain[-1]
        rows.append(_row(view, chain, depth))
        children = [child for child in last.below if child.largest_ns >= min_ns]
        children = [child for child in children if not (fold and is_age(child.section.node))]
        children.sort(key=lambda child: (child.ns, child.section.path))
        section = last.section
        min_self_ns = max(min_ns, MIN_SELF_SHARE * last.ns if fold else 0.0)
        if children and section.self_ns > 0 and section.self_ns >= min_self_ns:
            rows.append(_self(view, last, depth + 1))
        stack += [(child, depth + 1) for child in children]
    # Each node's self time is in one row only: in its [self] row if it has one.
    self_paths = {row.self_path for row in rows if row.kind == "self"}
    rows = [
        replace(row, self_share=0.0) if row.kind != "self" and row.self_path in self_paths else row
        for row in _self_last(rows)
    ]
    rows = [row for section_row in rows for row in (section_row, *_sampled(section_row, sampled or {}))]
    # A parent weighs at least as much as its children, and is less deep, so it comes first.
    return largest(rows, max_rows, lambda row: (-row.weight, row.depth))


def _sampled(row: TreeRow, sampled: Mapping[str, SampledTime]) -> Iterator[TreeRow]:
    """Yield the functions in which samples found a row's self time."""
    time = sampled.get(row.self_path)
    if time is None or not is_worth_rows(time) or row.kind == "wait":
        return
    for function in time.rows()[:ROWS_SHOWN]:
        share = row.self_share * function.share
        if share >= MIN_SAMPLED_SHARE:
            yield TreeRow(
                kind="sampled",
                path=row.self_path,
                names=(f"{function_title(function.function)} {MARK}",),
                node=row.node,
                ns=row.ns * share / row.share,
                share=share,
                weight=share,
                depth=row.depth + 1,
                notes=tuple(notes(function)),
            )


def _branches(view: LoopView) -> _Branch:
    by_path: dict[str, _Branch] = {}
    for section in view.sections:  # parents before their children
        total_ns = _section_ns(view, section)
        by_path[section.path] = branch = _Branch(section, total_ns, total_ns)
        if section.parent is not None:
            by_path[section.parent.path].below.append(branch)
    # A concurrent section may take longer than its parent, which then needs a row as well.
    for section in reversed(view.sections):
        branch = by_path[section.path]
        branch.largest_ns = max([branch.ns, *(child.largest_ns for child in branch.below)])
    return by_path[view.sections[0].path]


def _section_ns(view: LoopView, section: SectionView) -> float:
    """Return a section's time per tick: the part on the loop's path, or all of it if the section is concurrent."""
    if section is view.sections[0]:
        return view.tick_ns
    total_ns = (view.stats_of(section.node).sum_ns if view.loop else section.node.total_ns) / view.ticks
    return total_ns if section.total_ns < ON_PATH_SHARE * total_ns else section.total_ns


def _chain(branch: _Branch, min_ns: float) -> list[_Branch]:
    """Return a section and its chain of only children, which are one row."""
    chain = [branch]
    while True:
        last = chain[-1]
        children = [child for child in last.below if child.largest_ns >= min_ns]
        if len(children) != 1 or last.ns - children[0].ns >= min_ns:
            return chain
        inner = children[0].section
        if inner.is_loop or inner.node.concurrent_ns or _kind(inner) != _kind(branch.section):
            return chain
        chain.append(children[0])


def _row(view: LoopView, chain: Sequence[_Branch], depth: int) -> TreeRow:
    first = chain[0].section
    stats = view.stats_of(first.node)
    return TreeRow(
        kind=_kind(first),
        path=first.path,
        names=tuple(branch.section.node.name for branch in chain),
        node=first.node,
        ns=chain[0].ns,
        share=_share(chain[0].ns, view),
        weight=_share(chain[0].largest_ns, view),
        calls=first.calls,
        stats=stats,
        mark="slack" if first.is_slack else "loop" if first.is_loop else mark_of(first.node),
        depth=depth,
        self_path=chain[-1].section.path,
        self_share=_share(chain[-1].section.self_ns, view),
    )


def _self(view: LoopView, branch: _Branch, depth: int) -> TreeRow:
    section, share = branch.section, _share(branch.section.self_ns, view)
    return TreeRow(
        kind="self",
        path=section.path,
        names=("[self]",),
        node=section.node,
        ns=section.self_ns,
        share=share,
        weight=share,
        depth=depth,
        self_path=section.path,
        self_share=share,
    )


def _share(ns: float, view: LoopView) -> float:
    return ns / view.tick_ns if view.tick_ns > 0 else 0.0


def _kind(section: SectionView) -> Kind:
    return "wait" if section.is_wait else "section"


def _self_last(rows: list[TreeRow]) -> list[TreeRow]:
    """Return the rows, with the self time of each section after its children."""
    ordered: list[TreeRow] = []
    pending: list[TreeRow] = []
    for row in rows:
        while pending and pending[-1].depth > row.depth:
            ordered.append(pending.pop())
        (pending if row.kind == "self" else ordered).append(row)
    return ordered + pending[::-1]


def _columns(view: LoopView) -> tuple[Column[TreeRow], ...]:
    per = f"per {currency.noun(view)}" if view.loop else "time"
    total = "tick" if view.loop else "run"
    return (
        Column("share", "share", "share", 0, f"Share of the {total}."),
        Column("ns", per, "ns", 0, f"Time per {total}."),
        Column("mean_ns", "mean", "ns", 2, "Mean time of a call.", "stats.mean_ns", detail=True),
        Column("min_ns", "min", "ns", 7, "The shortest call.", "stats.min_ns", detail=True),
        Column("p50_ns", "p50", "ns", 3, "The median call.", "stats.p50_ns", detail=True),
        Column("p90_ns", "p90", "ns", 6, "90% of calls are not longer.", "stats.p90_ns", detail=True),
        Column("p99_ns", "p99", "ns", 2, "99% of calls are not longer.", "stats.p99_ns", detail=True),
        Column("max_ns", "max", "ns", 6, "The longest call.", "stats.max_ns", detail=True),
        Column("calls", "calls", "count", 1, "Completed calls.", _calls, detail=True),
        Column(
            "raised",
            "exceptions",
            "count",
            5,
            "Calls ended by an exception, in the whole run.",
            lambda row: row.node.raised or None if row.kind in ("section", "wait") else None,
            optional=True,
        ),
    )


def _calls(row: TreeRow) -> int | None:
    return row.stats.count or None


def tree(
    view: LoopView,
    options: ViewOptions,
    names: ShortNames,
    ceilings: Ceilings | None,
    max_rows: int | None = None,
    details: bool = False,
    sampled: Mapping[str, SampledTime] | None = None,
) -> Table | None:
    """Return the mean tick of a loop, or the run, as a tree; None if it is empty."""
    min_share = 0.0 if options.all else MIN_SHARE
    rows = tree_rows(view, min_share=min_share, fold=not options.all, max_rows=max_rows, sampled=sampled)
    if len(rows) < 2:
        return None
    columns = needed(_columns(view), rows, details=options.all)
    title = capitalized(currency.tick_phrase(view)) + ("" if options.all else " (from 1%)")
    notes = partial(notes_of, options=options, ceilings=ceilings, details=details)
    return tree_of(rows, columns, title, names, notes)


def tree_of(
    rows: Sequence[TreeRow],
    columns: Sequence[Column[TreeRow]],
    title: str,
    names: ShortNames,
    notes: Callable[[Node], tuple[str, ...]],
    narrower: Table | None = None,
) -> Table:
    """Return rows as a table with these columns, and with the `notes` on each node."""
    guided = zip(rows, guides([row.depth for row in rows]), strict=True)
    items = ((_entry(row, guide, trunk, names, notes), row) for row, (guide, trunk) in guided)
    return table_of(title, "section", columns, items, bar_rank=_BAR_RANK, narrower=narrower)


def _entry(
    row: TreeRow, guide: str, trunk: str, names: ShortNames, notes: Callable[[Node], tuple[str, ...]]
) -> Entry:
    is_node = row.kind in ("section", "wait")
    full_name = CHAIN.join(visible(name) or '""' for name in row.names)
    short_name = CHAIN.join(visible(names.of(name)) or '""' for name in row.names)
    return Entry(
        name=(full_name if row.path else "the run") if is_node else row.names[0],
        cells=(),
        tone="strong" if is_node and not row.depth else TONES[row.kind],
        mark=row.mark,
        notes=notes(row.node) if is_node and row.path else row.notes,
        guide=guide,
        trunk=trunk,
        share=row.share,
        short=short_name if is_node and short_name != full_name else "",
        path=row.path,
    )


def outside(run: LoopView, loops: Collection[str]) -> LoopView:
    """Return the run without the descendants of the loops at these paths, which have their own trees."""
    loops = {path for path in loops if path}
    sections = [
        replace(section, is_loop=True) if section.path in loops else section
        for section in run.sections
        if not any(paths.is_descendant(section.path, path) for path in loops)
    ]
    return replace(run, sections=sections)


# More columns fit in no terminal.
MAX_WORKERS = 24
# In the tree by process, rows of a smaller share of the run are shown only with `--all`.
MIN_RUN_SHARE = 0.001

_SHARE: Column[TreeRow] = Column("share", "share", "share", 0, "Share of the run's time.")
_TOTAL: Column[TreeRow] = Column("ns", "total", "ns", 5, "Total time.")
_CALLS: Column[TreeRow] = Column("calls", "calls", "count", 4, "Completed calls.", _calls)


def tree_by(profile: Profile, run: LoopView, options: ViewOptions, by: By) -> Table:
    """Return the tree of the run, with the time of each process, thread or role in every row.

    If there are too many for one column each, the columns are minimum, median, maximum, and the name of the slowest.
    """
    rows = tree_rows(run, min_share=0.0 if options.all else MIN_RUN_SHARE)
    workers = [worker for role in roles(profile, by) for worker in role.workers]
    notes = partial(notes_of, options=options, ceilings=fastest_machine(profile))
    names = ShortNames(profile.root)
    title = f"The run by {by}"

    def table(columns: Sequence[Column[TreeRow]], narrower: Table | None = None) -> Table:
        return tree_of(rows, [_SHARE, _TOTAL, *columns, _CALLS], title, names, notes, narrower)

    narrow = table(_spreads(rows, workers))
    if len(workers) > MAX_WORKERS:
        return narrow
    for titles in (short_titles(workers), [title_of(worker, by) for worker in workers]):
        narrow = table(
            [_worker_column(worker, head) for worker, head in zip(workers, titles, strict=True)], narrow
        )
    return narrow


def title_of(worker: Worker, by: By) -> str:
    """Return the head of the column of `worker`."""
    return visible(workers_title(worker.name, worker.members) if by == "role" else worker.name)


def short_titles(workers: Sequence[Worker]) -> list[str]:
    """Return the names of `workers`; after the first worker of a role, only their numbers."""
    first, *rest = [visible(worker.name) for worker in workers]
    follows = [before.role == worker.role for before, worker in pairwise(workers)]
    names = zip(rest, workers[1:], follows, strict=True)
    return [first, *(visible(u.name[len(u.role) + 1 :]) if short else name for name, u, short in names)]


def _worker_column(worker: Worker, title: str) -> Column[TreeRow]:
    about = f"Time of {visible(worker.name)} in the run."
    return Column(
        f"of_{worker.name}", title, "ns", 0, about, lambda row: _worker_times(row, [worker]).get(worker)
    )


def _spreads(rows: Sequence[TreeRow], workers: Sequence[Worker]) -> list[Column[TreeRow]]:
    """Return the columns for many workers; a row of only one worker has no minimum and no median."""
    # Once, because there may be a thousand workers.
    spreads = {id(row): spread(_worker_times(row, workers)) for row in rows}

    def cell(name: str, min_workers: int = 1) -> Callable[[TreeRow], Any]:
        value = attrgetter(name)
        return lambda row: (
            value(times) if (times := spreads[id(row)]) and times.workers >= min_workers else None
        )

    return [
        Column("min_ns", "min", "ns", 3, "The smallest time of those with any.", cell("min_ns", 2)),
        Column("median_ns", "median", "ns", 2, "The middle.", cell("median_ns", 2)),
        Column("max_ns", "max", "ns", 1, "The largest time.", cell("max_ns")),
        Column(
            "slowest",
            "slowest",
            "",
            0,
            "The process, thread or role with the largest time.",
            cell("slowest.name"),
        ),
    ]


def _worker_times(row: TreeRow, workers: Sequence[Worker]) -> dict[Worker, int]:
    kind = "self_ns" if row.kind == "self" else "total_ns"
    return amounts({thread: getattr(share, kind) for thread, share in row.node.by_thread.items()}, workers)
