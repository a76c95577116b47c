"""Growth: the tree of timers that a recorder's tallies make, since a moment, from chosen threads' points of view."""

from __future__ import annotations

from collections.abc import Collection

from ticktree.compat.mlagents.node import TimerNode
from ticktree.run.reading.tallies import Tallies, Tally

_SECOND = 1_000_000_000
_NOTHING = Tally()


class Growth:
    """What was recorded since a moment, seen from some threads.

    Args:
        tallies: Of now.
        mine: The trees whose roots are the result's root.
        beside: The trees of other threads that hang where those were started; others are left out.
        before: The tallies of the moment; None for the recorder's beginning.

    Attributes:
        nodes: once grown, the tree's nodes by the recorder's references.
    """

    def __init__(
        self, tallies: Tallies, mine: Collection[int], beside: Collection[int], before: Tallies | None
    ) -> None:
        self.tallies = tallies
        self.mine = mine
        self.beside = beside
        self.before = before
        self.nodes: dict[int, TimerNode] = {}
        self._since: dict[
            int, tuple[Tally, int, int]
        ] = {}  # each node's tally, own and concurrent nanoseconds
        self._measure()

    def grow(self, root: TimerNode, *, lives: bool) -> None:
        """Let the tree grow from `root`, which is new.

        Args:
            root: Becomes the root.
            lives: Whether it lasts until now. What went on outside all timers of a thread that has ended is not known.
        """
        totals = self._totals()
        covered_ns = 0
        for ref, place in self.tallies.places.items():
            if place.tree not in self.mine and place.tree not in self.beside:
                continue
            if place.is_root:
                self.nodes[ref] = root if place.tree in self.mine else self.nodes.get(place.parent, root)
                continue
            above = self.nodes[place.parent]
            node = self.nodes[ref] = above.get_child(place.name)
            concurrent_ns = self._concurrent_ns(ref, totals[ref])
            self._add(node, ref, totals[ref], is_parallel=concurrent_ns != 0 or above.is_parallel)
            if above is root:
                covered_ns += totals[ref] - concurrent_ns
        began = self.tallies.began if self.before is None else self.before.now
        elapsed_ns = max(covered_ns, self.tallies.ns(self.tallies.now - began)) if lives else covered_ns
        root.total, root.count, root.own = elapsed_ns / _SECOND, 1, (elapsed_ns - covered_ns) / _SECOND

    def open_nodes(self) -> set[int]:
        """The identities of the tree's nodes with a call that has not ended."""
        return {id(node) for ref, node in self.nodes.items() if self._since[ref][0].open}

    def _measure(self) -> None:
        before = self.before.at if self.before else {}
        for ref, tally in self.tallies.at.items():
            since = tally.since(before.get(ref, _NOTHING))
            convert = int if self.tallies.places[ref].in_ns else self.tallies.ns
            self._since[ref] = (since, max(0, convert(since.own)), convert(since.concurrent))

    def _totals(self) -> dict[int, int]:
        totals = {ref: self_ns for ref, (_, self_ns, _) in self._since.items()}
        for ref, place in reversed(self.tallies.places.items()):
            if not place.is_root:
                totals[place.parent] += totals[ref] - self._since[ref][2]
        return totals

    def _concurrent_ns(self, ref: int, total_ns: int) -> int:
        """What of a node's time was beside the node above it, as `mine` see it."""
        place = self.tallies.places[ref]
        if not self.tallies.places[place.parent].is_root or place.tree not in self.mine:
            return self._since[ref][2]
        # The run's own root passes time of its own. Another thread's does not: there a timer that nothing is around
        # counts as beside everything, which to the thread itself it is not.
        if self._since[place.parent][1] or self._since[place.parent][0].open:
            return self._since[ref][2]
        return self._since[ref][2] - total_ns

    def _add(self, node: TimerNode, ref: int, total_ns: int, *, is_parallel: bool) -> None:
        since, self_ns, _ = self._since[ref]
        node.total += total_ns / _SECOND
        node.own = (node.own or 0.0) + self_ns / _SECOND
        node.count += since.calls
        node.is_parallel = node.is_parallel or is_parallel
