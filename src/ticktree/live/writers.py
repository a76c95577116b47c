"""Who takes part in a run, for columns: its processes, or the threads of the only one there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.workers.roles import By, has_processes, roles
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile


@dataclass(frozen=True, slots=True)
class Party:
    """A process, or a thread.

    Attributes:
        title: what it is called; safe to show.
        writers: ids of its threads, or of itself.
    """

    title: str
    writers: frozenset[str]

    def time_in(self, node: Node) -> int:
        """Nanoseconds that it spent in a node."""
        return sum(share.total_ns for writer, share in node.by_writer.items() if writer in self.writers)


def parties_of(profile: Profile) -> tuple[str, Sequence[Party]]:
    """Return what they are ("processes", "threads") and who; nobody where only one thread recorded."""
    by: By = "process" if has_processes(profile) else "thread"
    parties = [
        Party(visible(unit.name), frozenset(unit.writers))
        for role in roles(profile, by)
        for unit in role.units
    ]
    if len(parties) < 2:
        return "", ()
    return "processes" if by == "process" else "threads", parties
