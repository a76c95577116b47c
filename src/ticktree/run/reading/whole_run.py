"""What is done to the profile of a whole run: blank nodes are left out, and crowds of workers are added up.

Blank are sections that were entered before a reset only, or never. A crowd: where a run has had hundreds of processes
of one role, the short-lived ones are added up as one writer. A column, or a line, for each of five thousand workers
tells nothing, and takes its place in every file. Those that lived longest are kept apart: stragglers and whole-run
workers are among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from ticktree.profile import Node, Profile, Writer
from ticktree.profile import path as paths
from ticktree.profile.renaming import renamed
from ticktree.run.reading.writers import role_of


def without_blanks(profile: Profile) -> Profile:
    """The profile without nodes that have no call, completed or open, no time and nothing below them.

    Their loops go with them, and so do the threads that were started in them.

    Args:
        profile: Of a whole run: what is blank in one process's file need not be in another's.
    """
    begun = {path for path, loop in profile.loops.items() if loop.ticks or loop.incomplete}
    finished: dict[str, Node] = {}
    for path, _, node in reversed(list(profile.root.walk())):
        below = {key: finished.pop(paths.child(path, key), None) for key in node.children}
        kept = {key: child for key, child in below.items() if child is not None}
        if kept or not path or path in begun or not _is_blank(node):
            same = all(kept.get(key) is child for key, child in node.children.items())
            finished[path] = node if same else replace(node, children=kept)
    root = finished[paths.ROOT]
    if root is profile.root:
        return profile
    return replace(
        profile,
        root=root,
        loops={path: loop for path, loop in profile.loops.items() if root.find(path) is not None},
        writers={key: each for key, each in profile.writers.items() if root.find(each.parent) is not None},
    )


def _is_blank(node: Node) -> bool:
    return not (node.count or node.open or node.self_ns or node.concurrent_ns or node.wakers)


KEPT_APART = 256


def add_up_crowds(profile: Profile, kept_apart: int = KEPT_APART) -> Profile:
    """The profile with at most so many processes of one role told apart; all sums stay as they are.

    Args:
        profile: Of a whole run: what is added up here cannot be told apart again.
        kept_apart: How many processes of a role, those that lived longest.
    """
    crowds = _crowds(profile.writers.values(), kept_apart)
    if not crowds:
        return profile
    new_ids = {member.id: crowd.id for crowd, members in crowds for member in members}

    def name(writer: str) -> str:
        return new_ids.get(writer, writer)

    alone = {key: writer for key, writer in profile.writers.items() if key not in new_ids}
    return renamed(profile, name, {**alone, **{crowd.id: crowd for crowd, _ in crowds}})


def _crowds(writers: Iterable[Writer], kept_apart: int) -> list[tuple[Writer, list[Writer]]]:
    """What is to be added up: each crowd as one writer, and its members."""
    processes: dict[tuple[str, str], list[Writer]] = defaultdict(list)
    for writer in writers:
        processes[writer.run, writer.process].append(writer)
    by_role: dict[tuple[str, str], list[list[Writer]]] = defaultdict(list)
    for (run, _), threads in processes.items():
        chief = min(threads, key=lambda thread: (not thread.is_main, thread.id))
        by_role[run, chief.role or role_of(chief.process_name)].append(threads)
    crowds = []
    for alike in by_role.values():
        alike.sort(key=lambda threads: (-max(map(_lived_ns, threads)), threads[0].process))
        kinds: dict[tuple[bool, str], list[Writer]] = defaultdict(list)
        for threads in alike[kept_apart:]:
            for thread in threads:
                kind = "" if thread.is_main else thread.role or role_of(thread.thread_name)
                kinds[thread.is_main, kind].append(thread)
        crowds += [(_crowd(members), members) for members in kinds.values() if len(members) > 1]
    return crowds


def _crowd(members: list[Writer]) -> Writer:
    first = min(members, key=lambda member: (member.started_ns or 0, member.id))
    parents = {member.parent for member in members}
    return replace(
        first,
        parent=first.parent if len(parents) == 1 else "",
        last_ns=max((member.last_ns for member in members if member.last_ns is not None), default=None),
        members=len({member.process for member in members}),
    )


def _lived_ns(writer: Writer) -> int:
    return (writer.last_ns or 0) - (writer.started_ns or 0)
