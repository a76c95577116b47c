"""Rows: the tree as a list of lines with numbers in them, which every view draws in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ticktree.analysis.machine import Ceilings, fastest_machine
from ticktree.outputs.options import Phase, ViewOptions
from ticktree.outputs.report.notes import notes_of, outlived
from ticktree.outputs.shapes.recursion import flattened
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile, Stats
from ticktree.profile.clock import HOST
from ticktree.profile.stats import rounded_ratio

Kind: TypeAlias = Literal["section", "wait", "unaccounted", "folded", "itself"]

SMALL_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree.

    Attributes:
        kind: a section, one that waits, a section's own time, several small ones as one, or ticktree itself.
        name: safe to show.
        mark: what sort of section it is, where that changes what its numbers mean.
        total_ns: over the whole run.
        share: `total_ns` as a part of the parent's. None where that has no meaning.
        stats: the calls of the phase asked for. Empty where the row is no section's.
        mean_ns: of one call, or for one call.
        calls: how many calls the mean is of.
        notes: what else is known, the most important first.
        guide: the lines that lead to it from its ancestors; "" at the top.
        trunk: the lines that lead past it to whatever follows; as wide as `guide`.
        nodes: what `total_ns` is of: their totals, or in a row of own time their own times.
    """

    kind: Kind
    name: str
    total_ns: int
    share: float | None
    mark: str = ""
    stats: Stats = field(default_factory=Stats)
    mean_ns: int | None = None
    calls: int | None = None
    notes: tuple[str, ...] = ()
    guide: str = ""
    trunk: str = ""
    nodes: tuple[Node, ...] = field(default=(), repr=False, compare=False)


def tree_rows(profile: Profile, options: ViewOptions) -> list[Row]:
    """Return the rows of the whole tree, top to bottom; none when nothing was recorded.

    A recursion is one row however deep it went, unless all rows are asked for.
    """
    rows: list[Row] = []
    here = fastest_machine(profile)
    root = profile.root if options.all else flattened(profile.root)
    # A stack, for trees may be deeper than functions may call themselves; its top is the next row.
    top = _below(root, options, here)
    if not root.self_ns:  # nobody measured what went on outside all sections
        top = [(row, node) for row, node in top if row.kind != "unaccounted"]
    waiting = [*_itself(profile.root), *reversed(top)]
    while waiting:
        row, node = waiting.pop()
        rows.append(row)
        below = _below(node, options, here) if node else []
        for place, (child, grandchild) in enumerate(reversed(below)):
            branch, trunk = ("├─ ", "│  ") if place else ("└─ ", "   ")
            waiting.append((replace(child, guide=row.trunk + branch, trunk=row.trunk + trunk), grandchild))
    return rows


def phase_of(node: Node, phase: Phase) -> Stats:
    """Return the statistics of `node` in `phase`; those of a node without phases are of its steady one."""
    if phase == "all":
        return node.stats
    return node.steady if phase == "steady" else node.warmup or Stats()


def _below(node: Node, options: ViewOptions, here: Ceilings | None) -> list[tuple[Row, Node | None]]:
    """Return the rows directly below `node`, the longest first, each with the node it opens into."""
    children = sorted(node.children.values(), key=lambda child: (-child.total_ns, child.key))
    small = [] if options.all else [child for child in children if _is_small(child, node)]
    if len(small) < 2:  # a row that says "1 more" says less than the row it would hide
        small = []
    hidden = {child.key for child in small}
    shown = [child for child in children if child.key not in hidden]
    rows: list[tuple[Row, Node | None]] = [(_section(child, node, options, here), child) for child in shown]
    if small:
        rows.append((_folded(small, node, options), None))
    if children:
        rows.append((_unaccounted(node), None))
    if outlived(node):  # a part of the parent's time is then nothing that can be said of them
        rows = [
            (replace(row, share=None) if child and child.concurrent_ns else row, child) for row, child in rows
        ]
    return rows


def _is_small(node: Node, parent: Node) -> bool:
    if node.open is not None or node.total_ns >= SMALL_SHARE * parent.total_ns:
        return False
    # What merely starts a thread is short, and all that the thread does is below it.
    spent_ns = sum(below.self_ns for _, _, below in node.walk())
    return spent_ns < SMALL_SHARE * parent.total_ns


def mark_of(node: Node) -> str:
    """Return what sort of section `node` is, where that changes what its numbers mean; "" where it does not."""
    if node.wait:
        return "wait"
    return f"{node.clock} clock" if node.clock != HOST else "parallel" if node.concurrent_ns else ""


def share_of(node: Node, parent: Node) -> float | None:
    """Return what part of the parent's time `node` is; None where that has no meaning."""
    # What a device or another program did may go on long after the call that asked for it.
    is_within = node.clock == HOST or node.total_ns <= parent.total_ns
    return _share(node.total_ns, parent) if is_within else None


def _share(total_ns: int, parent: Node) -> float | None:
    return total_ns / parent.total_ns if parent.total_ns > 0 else None


def _section(node: Node, parent: Node, options: ViewOptions, here: Ceilings | None) -> Row:
    stats = phase_of(node, options.phase)
    return Row(
        kind="wait" if node.wait else "section",
        name=visible(node.name) or '""',
        total_ns=node.total_ns,
        share=share_of(node, parent),
        mark=mark_of(node),
        stats=stats,
        mean_ns=stats.mean_ns,
        calls=stats.count,
        notes=notes_of(node, options, here),
        nodes=(node,),
    )


def _folded(nodes: list[Node], parent: Node, options: ViewOptions) -> Row:
    total_ns = sum(node.total_ns for node in nodes)
    return Row(
        kind="folded",
        name=f"{len(nodes)} smaller",
        total_ns=total_ns,
        share=_share(total_ns, parent),
        calls=sum(phase_of(node, options.phase).count for node in nodes),
        nodes=tuple(nodes),
    )


def _unaccounted(node: Node) -> Row:
    total_ns = node.self_ns - node.recorder_ns
    return Row(
        kind="unaccounted",
        name="unaccounted",
        total_ns=total_ns,
        share=_share(total_ns, node),
        mean_ns=rounded_ratio(total_ns, node.count) if node.count else None,
        nodes=(node,),
    )


def _itself(root: Node) -> Iterator[tuple[Row, None]]:
    """Yield what ticktree itself cost, taken out of every node's own time; nothing where it is not known."""
    nodes = [node for _, _, node in root.walk()]
    total_ns, calls = sum(node.recorder_ns for node in nodes), sum(node.count for node in nodes)
    if total_ns and calls:
        row = Row(
            kind="itself",
            name="ticktree itself",
            total_ns=total_ns,
            share=_share(total_ns, root),
            mean_ns=rounded_ratio(total_ns, calls),
            calls=calls,
        )
        yield row, None
