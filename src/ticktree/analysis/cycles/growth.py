"""Growth: whether calls take longer at the end of a run than at its beginning."""

from __future__ import annotations

from ticktree.profile import Node

# A third of fewer calls than these says little of how they are.
LEAST_CALLS = 30


def growth(node: Node) -> float | None:
    """Return how many times as long a call took in the last third of them as in the first; None where not known.

    Calls are told apart by the windows they ended in, so the thirds are as equal as windows allow.
    """
    windows = node.windows
    if node.count < LEAST_CALLS or windows.count != node.count:
        return None
    first = _mean_ns(node, sorted(windows.counts))
    last = _mean_ns(node, sorted(windows.counts, reverse=True))
    return last / first if first and last is not None else None


def _mean_ns(node: Node, order: list[int]) -> float | None:
    """Return the mean of the first third of the calls, if windows come in `order`; None where one holds too many."""
    count = total_ns = 0
    for index in order:
        count += node.windows.counts[index]
        total_ns += node.windows.totals.get(index, 0)
        if 3 * count >= node.count:
            return total_ns / count if 2 * count <= node.count else None
    return None
