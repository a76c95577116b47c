"""The rows of a watched run: its tree, sorted, folded and filtered as in the view's options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticktree.live.difference import Span
from ticktree.live.view import LiveView, Order, RowKey
from ticktree.outputs.view.notes import mark_of, outlived, share_of
from ticktree.outputs.view.tree import Kind
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import guides
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames

NOTHING = Node(name="")


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One line of the tree.

    Attributes:
        kind: a section, a wait, a section's self time, or ticktree itself.
        path: of the section, or of the section whose self time it is.
        name: safe to show; shortened for a call under focus.
        node: the node over the whole run.
        recent: the node in the last seconds; None if unknown.
        total_ns: time in it, over the whole run.
        base_ns: time in its loop, over the whole run; for a loop and outside loops, time in the run. 0 if it is no
            part of that, because it continued after its parent's end, as processes and devices do.
        recent_ns: time in it, over the last seconds.
        recent_base_ns: the same as `base_ns`, over the last seconds.
        mark: the section's kind, or how long it has been open; "" for none.
        guide: the tree lines that lead to it from its ancestors.
        folded: number of nodes below it that are not shown.
        is_match: whether it matches the filter itself, not only a descendant.
        full_name: the full name of a call under focus, safe to show; "" if `name` is the full name.
    """

    kind: Kind
    path: str
    name: str
    node: Node
    recent: Node | None
    total_ns: int
    base_ns: int
    recent_ns: int
    recent_base_ns: int
    mark: str = ""
    guide: str = ""
    folded: int = 0
    is_match: bool = True
    full_name: str = ""

    @property
    def key(self) -> RowKey:
        """The row's path and kind, which stay the same when rows move."""
        return self.path, self.kind

    @property
    def is_section(self) -> bool:
        """Whether it is a node, which has calls, not a part of a node."""
        return self.kind in ("section", "wait")


# The lower of two siblings may be larger by this factor, and by this share of the largest, before they swap.
SIMILAR_FACTOR = 1.2
SIMILAR_SHARE = 0.02

Child: TypeAlias = tuple[Node, Node | None, str]
"""A node, what it did in the last seconds, and its path."""


@dataclass(frozen=True, slots=True)
class _Parent:
    """The parent of rows; `base` is what their shares refer to, the enclosing loop or the run."""

    node: Node
    recent: Node | None
    path: str
    base: tuple[Node, Node | None]


_MEASURES: Mapping[Order, Callable[[Node], float]] = {
    "share": lambda node: node.total_ns,
    "rate": lambda node: node.count,
    "p99": lambda node: node.stats.p99_ns or 0,
}


def siblings_of(rows: Iterable[LiveRow]) -> dict[str, list[str]]:
    """Return the paths of each parent's rows, in their order."""
    siblings: dict[str, list[str]] = {}
    for row in rows:
        if row.is_section:
            siblings.setdefault(paths.parent(row.path), []).append(row.path)
    return siblings


def rows_of(profile: Profile, span: Span | None, view: LiveView) -> list[LiveRow]:
    """Return the rows, top to bottom; none if nothing was recorded or nothing matches."""
    return _Tree(profile, span, view).rows()


class _Tree:
    def __init__(self, profile: Profile, span: Span | None, view: LiveView) -> None:
        self._root = profile.root
        self._loops = profile.loops
        self._recent = None if span is None else span.profile.root
        self._length_ns = 0 if span is None else span.length_ns
        self._view = view
        self._names = ShortNames(profile.root)
        self._visible_paths, self._matching_paths = _filtered(profile.root, view.filter, self._names)

    def rows(self) -> list[LiveRow]:
        # A stack, because trees may be deeper than Python's recursion limit; its top is the next row.
        rows: list[LiveRow] = []
        depths: list[int] = []
        run = _Parent(self._root, self._recent, paths.ROOT, (self._root, self._recent))
        to_visit = [*self._cost_row(run), *reversed(self._child_rows(run, 0))]
        while to_visit:
            row, parent, depth = to_visit.pop()
            rows.append(row)
            depths.append(depth)
            if row.is_section and not row.folded:
                to_visit.extend(reversed(self._child_rows(parent, depth + 1)))
        return [replace(row, guide=guide) for row, (guide, _) in zip(rows, guides(depths), strict=True)]

    def _child_rows(self, parent: _Parent, depth: int) -> list[tuple[LiveRow, _Parent, int]]:
        """Return the rows directly below a node, in order, each with itself as the parent of further rows."""
        node, recent, path, is_top = parent.node, parent.recent, parent.path, not depth
        children = [
            (child, None if recent is None else recent.children.get(name, NOTHING), child_path)
            for name, child in node.children.items()
            if (child_path := paths.child(path, name)) in self._visible_paths
        ]
        children = self._sorted(children, path, is_top=is_top)
        # With a filter, the remaining time is not self time.
        has_rest = bool(children) and not self._view.filter and (not is_top or node.self_ns > 0)
        rows: list[tuple[LiveRow, _Parent, int]] = []
        for child, child_recent, child_path in children:
            row = self._section(child, child_recent, child_path, parent)
            base = (child, child_recent) if child_path in self._loops else parent.base
            rows.append((row, _Parent(child, child_recent, child_path, base), depth))
        if has_rest:
            recent_ns = recent.self_ns - recent.recorder_ns if recent else 0
            self_ns = node.self_ns - node.recorder_ns
            rows.append((_part_row("self", "[self]", parent, self_ns, recent_ns), parent, depth))
        return rows

    def _sorted(self, children: list[Child], path: str, *, is_top: bool) -> list[Child]:
        """Return siblings in the chosen order, or in their previous order if that is nearly the same.

        At the top, loops come first, in the order of the loops.
        """
        order = self._view.order
        rank = {loop: i for i, loop in enumerate(self._view.loops if is_top and order == "share" else ())}
        loops = sorted((child for child in children if child[2] in rank), key=lambda child: rank[child[2]])
        unranked = [child for child in children if child[2] not in rank]
        new_order = sorted(unranked, key=_sort_key(order, self._names))
        positions = {sibling: i for i, sibling in enumerate(self._view.siblings.get(path, ()))}
        old_order = sorted(unranked, key=lambda child: positions.get(child[2], len(positions)))
        keeps_order = bool(positions) and order != "name" and _is_nearly_sorted(old_order, order)
        return [*loops, *(old_order if keeps_order else new_order)]

    def _section(self, node: Node, recent: Node | None, path: str, parent: _Parent) -> LiveRow:
        base, recent_base = parent.base
        name = self._names.of(node.name)
        return LiveRow(
            kind="wait" if node.wait else "section",
            path=path,
            name=visible(name) or '""',
            mark=self._mark(node),
            node=node,
            recent=recent,
            total_ns=node.total_ns,
            base_ns=_share_base(parent.node, node, node, base),
            recent_ns=recent.total_ns if recent else 0,
            recent_base_ns=_share_base(parent.recent, node, recent or NOTHING, recent_base),
            folded=self._hidden_count(node, path) if path in self._view.folded else 0,
            is_match=path in self._matching_paths,
            full_name=visible(node.name) if name != node.name else "",
        )

    def _hidden_count(self, node: Node, path: str) -> int:
        prefix = path + "/"
        return sum(f"{prefix}{below}" in self._visible_paths for below, depth, _ in node.walk() if depth)

    def _mark(self, node: Node) -> str:
        if node.open is not None and self._length_ns and node.open.age_ns >= self._length_ns:
            return f"open for {formatting.time(node.open.age_ns)}"
        return mark_of(node)

    def _cost_row(self, run: _Parent) -> list[tuple[LiveRow, _Parent, int]]:
        """Return the row of ticktree's cost, which no node's self time contains; nothing if unknown."""
        cost_ns = sum(node.recorder_ns for _, _, node in self._root.walk())
        if not cost_ns or self._view.filter:
            return []
        recent_ns = sum(node.recorder_ns for _, _, node in self._recent.walk()) if self._recent else 0
        return [(_part_row("itself", "ticktree itself", run, cost_ns, recent_ns), run, 0)]


def _filtered(root: Node, letters: str, names: ShortNames) -> tuple[set[str], set[str]]:
    """Return the paths to show and those of them that match: all, or those with the filter's text in their name."""
    nodes = [(path, node) for path, depth, node in root.walk() if depth]
    if not letters:
        all_paths = {path for path, _ in nodes}
        return all_paths, all_paths
    text = letters.casefold()
    matching = {
        path
        for path, node in nodes
        if any(text in visible(name).casefold() for name in {node.name, names.of(node.name)})
    }
    visible_paths = set(matching)
    for path, _ in reversed(nodes):  # children come after their parents
        if path in visible_paths:
            visible_paths.add(paths.parent(path))
    return visible_paths - {paths.ROOT}, matching


def _share_base(above: Node | None, node: Node, part: Node, base: Node | None) -> int:
    """Return the time that a node's time is a share of; 0 if it continued after its parent's end."""
    if above is None or base is None or (node.concurrent_ns and outlived(above)):
        return 0
    return 0 if share_of(part, above) is None else base.total_ns


def _sort_key(order: Order, names: ShortNames) -> Callable[[Child], tuple[float, float, str]]:
    """Return the sort key of siblings: by the last seconds, or by the whole run if these are unknown."""
    if order == "name":
        return lambda child: (0, 0, visible(names.of(child[0].name)).casefold())
    measure = _MEASURES[order]
    return lambda child: (-measure(child[1]) if child[1] else 0, -measure(child[0]), child[0].key)


def _is_nearly_sorted(children: list[Child], order: Order) -> bool:
    """Return whether no row is much larger than one before it: similar rows must not keep changing places."""
    values = [_MEASURES[order](recent or node) for node, recent, _ in children]
    smallest, largest = float("inf"), max(values, default=0)
    for value in values:
        if value > SIMILAR_FACTOR * smallest + SIMILAR_SHARE * largest:
            return False
        smallest = min(smallest, value)
    return True


def _part_row(kind: Kind, name: str, parent: _Parent, total_ns: int, recent_ns: int) -> LiveRow:
    base, recent_base = parent.base
    return LiveRow(
        kind=kind,
        path=parent.path,
        name=name,
        node=parent.node,
        recent=parent.recent,
        total_ns=total_ns,
        base_ns=base.total_ns,
        recent_ns=recent_ns,
        recent_base_ns=recent_base.total_ns if recent_base else 0,
    )


def row_index(rows: Iterable[LiveRow], key: RowKey | None) -> int:
    """Return the index of a row; if it is not there, that of its nearest visible ancestor, or 0."""
    if key is None:
        return 0
    indices: dict[RowKey, int] = {row.key: i for i, row in enumerate(rows)}
    names = paths.split(key[0])
    ancestors = (paths.join(names[:length]) for length in range(len(names), 0, -1))
    keys = [key, *((path, kind) for path in ancestors for kind in ("section", "wait"))]
    return next((indices[key] for key in keys if key in indices), 0)
