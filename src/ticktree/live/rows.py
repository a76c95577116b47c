"""The rows of a watched run: its tree in the order, and as far unfolded and filtered, as asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ticktree.live.difference import Span
from ticktree.live.view import LiveView, Order, Place
from ticktree.outputs.view.notes import mark_of, outlived, share_of
from ticktree.outputs.view.tree import Kind
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames

NOTHING = Node(name="")


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One line of the tree.

    Attributes:
        kind: a section, one that waits, a section's self time, or ticktree itself.
        path: of the section; of the one whose self time it is.
        name: safe to show; of a call under focus a short one.
        mark: what sort of section it is, or how long it has been open; "" where there is nothing to say.
        guide: the lines that lead to it from its ancestors.
        node: what is known of the whole run.
        recent: what happened in the last seconds; None where that is not known.
        total_ns: time in it, over the whole run.
        base_ns: time in the loop that it is in, over the whole run; of a loop, and of what is in none, in the run. 0
            where it is no part of that: it went on after its parent, as processes and devices do.
        recent_ns: time in it, over the last seconds.
        recent_base_ns: the same as `base_ns`, over the last seconds.
        folded: how many nodes below it are not shown.
        matched: whether it is what the filter asks for, and not what leads there.
        whole: the name of a call under focus in full, safe to show; "" where `name` is all of it.
    """

    kind: Kind
    path: str
    name: str
    mark: str
    guide: str
    node: Node
    recent: Node | None
    total_ns: int
    base_ns: int
    recent_ns: int
    recent_base_ns: int
    folded: int = 0
    matched: bool = True
    whole: str = ""

    @property
    def place(self) -> Place:
        """What it is found by again when the rows move."""
        return self.path, self.kind

    @property
    def is_section(self) -> bool:
        """Whether it is a node, which has calls, and not a part of one."""
        return self.kind in ("section", "wait")


# Of two siblings the one below may be that much more before they change places: times as much, and of the largest.
ALIKE_FACTOR = 1.2
ALIKE_SHARE = 0.02

Child: TypeAlias = tuple[Node, Node | None, str]
"""A node, what it did in the last seconds, and its path."""


@dataclass(frozen=True, slots=True)
class _Above:
    """What rows lie below.

    Attributes:
        node: directly above them.
        recent: what it did in the last seconds.
        path: of it.
        trunk: the lines that lead past it.
        base: what they are a share of: the loop around them, or the run; in all, and in the last seconds.
    """

    node: Node
    recent: Node | None
    path: str
    trunk: str
    base: tuple[Node, Node | None]


_MEASURES: Mapping[Order, Callable[[Node], float]] = {
    "share": lambda node: node.total_ns,
    "rate": lambda node: node.count,
    "p99": lambda node: node.stats.p99_ns or 0,
}


def siblings_of(rows: Iterable[LiveRow]) -> dict[str, list[str]]:
    """Return the paths of each parent's rows, in their order."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.is_section:
            found.setdefault(paths.parent(row.path), []).append(row.path)
    return found


def rows_of(profile: Profile, span: Span | None, view: LiveView) -> list[LiveRow]:
    """Return the rows, top to bottom; none where nothing was recorded or nothing matches."""
    return _Tree(profile, span, view).rows()


class _Tree:
    def __init__(self, profile: Profile, span: Span | None, view: LiveView) -> None:
        self._root = profile.root
        self._loops = profile.loops
        self._recent = None if span is None else span.profile.root
        self._length_ns = 0 if span is None else span.length_ns
        self._view = view
        self._names = ShortNames(profile.root)
        self._shown, self._matching = _filtered(profile.root, view.filter, self._names)

    def rows(self) -> list[LiveRow]:
        # A stack, for trees may be deeper than functions may call themselves; its top is the next row.
        rows: list[LiveRow] = []
        top = self._below(self._run(), is_top=True)
        waiting = [*self._itself(), *reversed(top)]
        while waiting:
            row, parent = waiting.pop()
            rows.append(row)
            if row.is_section and not row.folded:
                waiting.extend(reversed(self._below(parent, is_top=False)))
        return rows

    def _run(self) -> _Above:
        return _Above(self._root, self._recent, paths.ROOT, "", (self._root, self._recent))

    def _below(self, parent: _Above, *, is_top: bool) -> list[tuple[LiveRow, _Above]]:
        """Return the rows directly below a node, in order, each with what it is to those below it."""
        node, recent, path, trunk = parent.node, parent.recent, parent.path, parent.trunk
        children = [
            (child, _recent_child(recent, name), child_path)
            for name, child in node.children.items()
            if (child_path := paths.child(path, name)) in self._shown
        ]
        children = self._sorted(children, path, is_top=is_top)
        # Where something is filtered out, what is left over is not what nobody accounts for.
        has_rest = bool(children) and not self._view.filter and (not is_top or node.self_ns > 0)
        result: list[tuple[LiveRow, _Above]] = []
        for place, (child, its_recent, child_path) in enumerate(children):
            is_last = not has_rest and place == len(children) - 1
            branch, beyond = ("", "") if is_top else ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            row = self._section(child, its_recent, child_path, parent, trunk + branch)
            base = (child, its_recent) if child_path in self._loops else parent.base
            result.append((row, _Above(child, its_recent, child_path, trunk + beyond, base)))
        if has_rest:
            result.append((_rest(parent, "" if is_top else trunk + "└─ "), parent))
        return result

    def _sorted(self, children: list[Child], path: str, *, is_top: bool) -> list[Child]:
        """Return siblings in the order asked for, or as they stood before where that is nearly the same.

        At the top, the loops stand before all else, in the order of the loops.
        """
        order = self._view.order
        rank = {loop: at for at, loop in enumerate(self._view.loops if is_top and order == "share" else ())}
        loops = sorted((child for child in children if child[2] in rank), key=lambda child: rank[child[2]])
        others = [child for child in children if child[2] not in rank]
        fresh = sorted(others, key=_sorting(order, self._names))
        before = {sibling: at for at, sibling in enumerate(self._view.siblings.get(path, ()))}
        kept = sorted(others, key=lambda child: before.get(child[2], len(before)))
        is_kept = bool(before) and order != "name" and _is_nearly_sorted(kept, order)
        return [*loops, *(kept if is_kept else fresh)]

    def _section(self, node: Node, recent: Node | None, path: str, parent: _Above, guide: str) -> LiveRow:
        base, recent_base = parent.base
        name = self._names.of(node.name)
        return LiveRow(
            kind="wait" if node.wait else "section",
            path=path,
            name=visible(name) or '""',
            mark=self._mark(node),
            guide=guide,
            node=node,
            recent=recent,
            total_ns=node.total_ns,
            base_ns=_whole_for(parent.node, node, node, base),
            recent_ns=recent.total_ns if recent else 0,
            recent_base_ns=_whole_for(parent.recent, node, recent or NOTHING, recent_base),
            folded=len(node.children) and self._hidden_below(node, path),
            matched=path in self._matching,
            whole=visible(node.name) if name != node.name else "",
        )

    def _hidden_below(self, node: Node, path: str) -> int:
        if path not in self._view.folded:
            return 0
        prefix = path + "/"
        return sum(f"{prefix}{below}" in self._shown for below, depth, _ in node.walk() if depth)

    def _mark(self, node: Node) -> str:
        if node.open is not None and self._length_ns and node.open.age_ns >= self._length_ns:
            return f"open for {formatting.time(node.open.age_ns)}"
        return mark_of(node)

    def _itself(self) -> list[tuple[LiveRow, _Above]]:
        """Return what ticktree itself cost, taken out of every node's self time; nothing where not known."""
        cost_ns = sum(node.recorder_ns for _, _, node in self._root.walk())
        if not cost_ns or self._view.filter:
            return []
        recent_ns = sum(node.recorder_ns for _, _, node in self._recent.walk()) if self._recent else 0
        return [(_part("itself", "ticktree itself", self._run(), "", cost_ns, recent_ns), self._run())]


def _filtered(root: Node, letters: str, names: ShortNames) -> tuple[set[str], set[str]]:
    """Return the paths to show and those of them that match: all, or what holds the letters in a name."""
    every = [(path, node) for path, depth, node in root.walk() if depth]
    if not letters:
        known = {path for path, _ in every}
        return known, known
    wanted = letters.casefold()
    matching = {
        path
        for path, node in every
        if any(wanted in visible(name).casefold() for name in {node.name, names.of(node.name)})
    }
    shown = set(matching)
    for path, _ in reversed(every):  # children come after their parents
        if path in shown:
            above = paths.parent(path)
            shown.add(above)
    shown.discard(paths.ROOT)
    return shown, matching


def _whole_for(above: Node | None, node: Node, part: Node, base: Node | None) -> int:
    """Return the time that a node's is a part of; 0 where it went on after its parent, as processes and devices do."""
    if (
        above is None
        or base is None
        or (node.concurrent_ns and outlived(above))
        or share_of(part, above) is None
    ):
        return 0
    return base.total_ns


def _recent_child(recent: Node | None, name: str) -> Node | None:
    return None if recent is None else recent.children.get(name, NOTHING)


def _sorting(order: Order, names: ShortNames) -> Callable[[Child], tuple[float, float, str]]:
    """Return the key that sorts siblings: by the last seconds, where they say nothing by the whole run."""
    if order == "name":
        return lambda child: (0, 0, visible(names.of(child[0].name)).casefold())
    by = _MEASURES[order]
    return lambda child: (-by(child[1]) if child[1] else 0, -by(child[0]), child[0].key)


def _is_nearly_sorted(children: list[Child], order: Order) -> bool:
    """Tell whether none is much more than one before it. Those that are alike must not change places all the time."""
    values = [_MEASURES[order](recent or node) for node, recent, _ in children]
    least, largest = float("inf"), max(values, default=0)
    for value in values:
        if value > ALIKE_FACTOR * least + ALIKE_SHARE * largest:
            return False
        least = min(least, value)
    return True


def _rest(parent: _Above, guide: str) -> LiveRow:
    node, recent = parent.node, parent.recent
    recent_ns = recent.self_ns - recent.recorder_ns if recent else 0
    return _part("self", "[self]", parent, guide, node.self_ns - node.recorder_ns, recent_ns)


def _part(kind: Kind, name: str, parent: _Above, guide: str, total_ns: int, recent_ns: int) -> LiveRow:
    base, recent_base = parent.base
    return LiveRow(
        kind=kind,
        path=parent.path,
        name=name,
        mark="",
        guide=guide,
        node=parent.node,
        recent=parent.recent,
        total_ns=total_ns,
        base_ns=base.total_ns,
        recent_ns=recent_ns,
        recent_base_ns=recent_base.total_ns if recent_base else 0,
    )


def place_in(rows: Iterable[LiveRow], place: Place | None) -> int:
    """Return the index of a row; that of its nearest ancestor in sight, or 0, where it is not there."""
    found: dict[Place, int] = {row.place: at for at, row in enumerate(rows)}
    if place is None or place in found:
        return 0 if place is None else found[place]
    names = paths.split(place[0])
    for length in range(len(names), 0, -1):
        path = paths.join(names[:length])
        for kind in ("section", "wait"):
            if (path, kind) in found:
                return found[path, kind]
    return 0
