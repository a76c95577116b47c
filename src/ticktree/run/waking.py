"""Who unblocked whom and the critical path, of all processes of a run: places in files to places in the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticktree.profile import CriticalPlace, Waker, Wakes
from ticktree.run.branches import Branch
from ticktree.run.edges import Edge, Place
from ticktree.run.image import Writer


class Told(NamedTuple):
    """What one process's file tells others of its nodes.

    Attributes:
        branches: Where each node went, by its reference.
        writers: Whose each node is, as profiles call it.
    """

    branches: Mapping[int, Branch]
    writers: Mapping[int, str]


class Waking:
    """Keeps what names nodes of other processes until all their files are there.

    Attributes:
        lost: Waits that ended by a signal of a process whose file is not among them.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._told: dict[Writer, Told] = {}
        self._edges: list[tuple[Writer, Edge]] = []
        self._critical: tuple[Writer, Mapping[Place, int]] | None = None

    def add(self, process: Writer, told: Told, edges: list[Edge], critical: Mapping[Place, int]) -> None:
        """Takes one process's file.

        Args:
            process: Whose it is.
            told: What it tells others.
            edges: Who ended its waits.
            critical: Its main thread's critical path; that of the process that is nobody's child, and ended last, is
                the run's.
        """
        self._told[process] = told
        self._edges += ((process, edge) for edge in edges)
        if critical and (self._critical is None or sum(critical.values()) > sum(self._critical[1].values())):
            self._critical = process, critical

    def wake(self) -> None:
        """Tells each place in the tree who ended the waits there."""
        for process, edge in self._edges:
            waiting, by = self._told[process], self._told.get(edge.by.process)
            if by is None or edge.by.node not in by.branches or edge.by.node not in by.writers:
                # Of one process by itself it is no loss that others are not there.
                self.lost += edge.waits if len(self._told) > 1 else 0
                continue
            waker = Waker(
                channel=edge.channel,
                writer=waiting.writers[edge.node],
                by=by.writers[edge.by.node],
                path=by.branches[edge.by.node].path,
            )
            wakes = Wakes(edge.waits, edge.waited_ns, edge.handover_ns)
            waiting.branches[edge.node].tally.add_wakes(waker, wakes)

    def critical(self) -> dict[CriticalPlace, int]:
        """The run's critical path; empty where nobody unblocked anybody.

        Places too small to have been kept apart, and those of processes whose files are not there, are the root's.
        """
        if self._critical is None or not self._edges:
            return {}
        process, shares = self._critical
        writers = self._told[process].writers
        root = CriticalPlace(writers[min(writers)], "")
        found: dict[CriticalPlace, int] = {}
        for place, ns in shares.items():
            at = self._place(place) or root
            found[at] = found.get(at, 0) + ns
        return found

    def _place(self, place: Place) -> CriticalPlace | None:
        told = self._told.get(place.process)
        if told is None or place.node not in told.branches or place.node not in told.writers:
            return None
        return CriticalPlace(told.writers[place.node], told.branches[place.node].path)
