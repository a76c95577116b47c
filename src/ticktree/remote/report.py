"""What a server says of one request: how long it took there, and what below."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ticktree.recorder import Watch


class Row(NamedTuple):
    """One place in a server's subtree of one request.

    Attributes:
        depth: 1 right below the request.
        name: The section's name.
        total_ns: What its calls of this request took together.
        concurrent_ns: What of that does not count against the row around it, because something else ran meanwhile.
    """

    depth: int
    name: str
    total_ns: int
    concurrent_ns: int = 0


class Report(NamedTuple):
    """What a server says of one request.

    Attributes:
        name: What the server calls it: `POST /step`.
        total_ns: From when it knew of the request until it reported, by its own clock; None where it does not say.
        rows: Below it, parents first.
    """

    name: str
    total_ns: int | None
    rows: tuple[Row, ...] = ()


def report_of(name: str, watch: Watch, queued_ns: int | None = None) -> Report:
    """Return what has been recorded of one request.

    Args:
        name: What the request is called.
        watch: Of the request's own call.
        queued_ns: How long it waited here before anything was done for it; None where that is not known.
    """
    rows = _arranged(watch.rows())
    if queued_ns is None:
        return Report(name, watch.total_ns, rows)
    return Report(name, watch.total_ns + queued_ns, (Row(1, QUEUE, queued_ns), *rows))


# The rows that are ticktree's own. A client shows them under the names that they have here.
QUEUE = "queue"
OTHERS = "others"


def _arranged(found: Iterable[tuple[int, int, str, int, int]]) -> tuple[Row, ...]:
    """Put rows in order, parents first; those of one name in one place are one: each thread has nodes of its own."""
    below: dict[int, list[tuple[int, str, int, int]]] = {}
    nodes = set()
    for node, around, name, total_ns, concurrent_ns in found:
        nodes.add(node)
        below.setdefault(around, []).append((node, name, total_ns, concurrent_ns))
    rows: list[Row] = []
    # Not by recursion: trees are deep. What is to come next is last.
    waiting = _together(1, [around for around in below if around not in nodes], below)
    while waiting:
        row, members = waiting.pop()
        rows.append(row)
        waiting += _together(row.depth + 1, members, below)
    return tuple(rows)


def _together(
    depth: int, around: Iterable[int], below: dict[int, list[tuple[int, str, int, int]]]
) -> list[tuple[Row, list[int]]]:
    """Return the rows below several nodes, one a name, each with the nodes that it is of; the last name first."""
    sums: dict[str, tuple[list[int], int, int]] = {}
    for above in around:
        for node, name, total_ns, concurrent_ns in below.get(above, ()):
            members, so_far_ns, beside_ns = sums.get(name, ([], 0, 0))
            sums[name] = ([*members, node], so_far_ns + total_ns, beside_ns + concurrent_ns)
    rows = [(Row(depth, name, ns, beside_ns), members) for name, (members, ns, beside_ns) in sums.items()]
    return rows[::-1]
