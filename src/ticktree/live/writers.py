"""Who takes part in a run, for columns: its processes, or the threads of the only one there is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticktree.outputs.visible import visible
from ticktree.profile import Node, Profile, Writer

_NUMBER = re.compile(r"(\d+)$")


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
    by_process: dict[str, list[Writer]] = {}
    for writer in profile.writers.values():
        by_process.setdefault(writer.process, []).append(writer)
    if len(by_process) > 1:
        return "processes", _named({_chief(members): members for members in by_process.values()}, "process")
    threads = {writer.id: [writer] for members in by_process.values() for writer in members}
    if len(threads) > 1:
        return "threads", _named({members[0]: members for members in threads.values()}, "thread")
    return "", ()


def _chief(members: Sequence[Writer]) -> Writer:
    """Return the writer that a process is called after."""
    return min(members, key=lambda writer: (not writer.is_main, _age(writer), writer.id))


def _named(groups: Mapping[Writer, Sequence[Writer]], kind: str) -> list[Party]:
    """Return the groups in order: one of a kind first, then by name, number and age; alike ones are numbered."""
    names = {chief: _name(chief, kind) for chief in groups}
    alike, so_far = Counter(names.values()), Counter[str]()

    def order(chief: Writer) -> tuple[bool, str, int, int, str]:
        return alike[names[chief]] > 1, names[chief], _number(chief, kind), _age(chief), chief.id

    result = []
    for chief in sorted(groups, key=order):
        name = names[chief]
        title = visible(name)
        if alike[name] > 1:
            title += f" {so_far[name]}"
        so_far[name] += 1
        if chief.members > 1:
            title += f" x{chief.members}"
        result.append(Party(title, frozenset(writer.id for writer in groups[chief])))
    return result


def _name(chief: Writer, kind: str) -> str:
    own = chief.process_name if kind == "process" else chief.thread_name
    return chief.role or own or kind


def _number(chief: Writer, kind: str) -> int:
    found = _NUMBER.search(chief.process_name if kind == "process" else chief.thread_name)
    return int(found[1][:18]) if found else 0


def _age(writer: Writer) -> int:
    return writer.started_ns or 0
