"""Where an update's time went, printed every so many updates from what ticktree has recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import ticktree

if TYPE_CHECKING:
    from ticktree.profile import Node

UPDATE = "train/update"
# Rows that show what they consist of. The second critic's convolutions would only repeat the first one's.
OPENED = {"", "sample", "sample/states", "sample/next states", "target", "actor"}
OPENED |= {"critic 1", "critic 1/forward", "critic 2"}


class Row(NamedTuple):
    """One line of a budget, per update of the interval."""

    depth: int
    name: str
    ns: float
    bytes_per_second: float | None
    flops_per_second: float | None


class Budget:
    """Means over the updates since the last one printed: the later snapshot less the earlier."""

    def __init__(self) -> None:
        self._before: Node | None = None

    def render(self, update: int) -> str:
        """Return the budget of the updates since the last call, ending with update number `update`."""
        now = _find(ticktree.snapshot().root, UPDATE)
        before, self._before = self._before, now
        count = now.count - (before.count if before else 0) if now else 0
        if now is None or count == 0:
            return "no budget: ticktree is not recording (TICKTREE_OFF is set, or it was disabled)"
        rows = list(_rows(now, before, count, ""))
        title = f"update {update}, mean of {count}"
        return "\n".join([f"{title:<44}{rows[0].ns / 1e6:10.2f} ms", *_lines(rows)])


def _find(root: Node, path: str) -> Node | None:
    node: Node | None = root
    for name in path.split("/"):
        node = node.children.get(name) if node else None
    return node


def _rows(now: Node, before: Node | None, count: int, path: str) -> Iterator[Row]:
    depth = path.count("/") + 1 if path else 0
    total_ns = now.total_ns - (before.total_ns if before else 0)
    rates = (_rate(now, before, unit, total_ns) for unit in ("bytes", "flops"))
    yield Row(depth, now.name, total_ns / count, *rates)
    if path not in OPENED:
        return
    for name, child in now.children.items():
        below = f"{path}/{name}" if path else name
        yield from _rows(child, before.children.get(name) if before else None, count, below)
    self_ns = now.self_ns - (before.self_ns if before else 0)
    yield Row(depth + 1, "unaccounted", self_ns / count, None, None)


def _rate(now: Node, before: Node | None, unit: str, total_ns: int) -> float | None:
    done: int = getattr(now.work, unit) if now.work else 0
    if before and before.work:
        done -= getattr(before.work, unit)
    return done * 1e9 / total_ns if done and total_ns else None


def _lines(rows: list[Row]) -> Iterator[str]:
    whole = rows[0].ns
    for row in rows[1:]:
        name = "   " * (row.depth - 1) + "- " + row.name
        rate = ""
        if row.bytes_per_second:
            rate = f"{row.bytes_per_second / 1e9:9.2f} GB/s"
        elif row.flops_per_second:
            rate = f"{row.flops_per_second / 1e9:9.1f} GFLOP/s"
        yield f"{name:<44}{row.ns / 1e6:10.2f} ms {row.ns / whole:7.1%}{rate}"
