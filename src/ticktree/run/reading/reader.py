"""Read memory files into a profile."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.profile import Node, Profile, SampledStack, Samples, Thread, Weight
from ticktree.profile import path as paths
from ticktree.profile.noted_lines import SAMPLED_LINES, NotedLines, kind_of, read_noted_lines
from ticktree.profile.renaming import rename_threads
from ticktree.profile.thread import by_process
from ticktree.run.folded import read_records
from ticktree.run.losses import WITHOUT_ROOM_LOSS, count_without_room, read_instrument_losses
from ticktree.run.memory import ProcessKey
from ticktree.run.observations import StackSamples, read_gauges, read_samples
from ticktree.run.parts import read_parts
from ticktree.run.reading.accounts import role_of
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.joining import Joiner
from ticktree.run.reading.layout import HeaderFlag
from ticktree.run.reading.tree import NodeLocations

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles


# Changes to the profile of a whole run: leave out blank nodes, merge short-lived workers, and add samples.
#
# A blank node is a section that was only entered before a reset, or never. Of hundreds of processes of one role, the
# short-lived ones are merged into one thread: one column or line per worker of five thousand is of no use, and takes
# space in every file. The longest-lived ones stay separate: stragglers and workers of the whole run are among them.
#
# Samples are added here because a sample names a node by the file it was in.


def drop_blanks(profile: Profile) -> Profile:
    """Return the profile without nodes that have no completed or open call, no time and no children.

    Their loops and the threads that were started in them are left out, too. For whole runs only: a node that is blank
    in one process's file may not be blank in another's.
    """
    loop_paths = {path for path, loop in profile.loops.items() if loop.ticks or loop.incomplete}
    nodes: dict[str, Node] = {}
    for path, _, node in reversed(list(profile.root.walk())):
        child_paths = {key: paths.child(path, key) for key in node.children}
        children = {key: nodes.pop(child) for key, child in child_paths.items() if child in nodes}
        if children or not path or path in loop_paths or not _is_blank(node):
            is_same = all(children.get(key) is child for key, child in node.children.items())
            nodes[path] = node if is_same else replace(node, children=children)
    root = nodes[paths.ROOT]
    if root is profile.root:
        return profile
    loops = {path: loop for path, loop in profile.loops.items() if root.find(path) is not None}
    threads = {key: thread for key, thread in profile.threads.items() if root.find(thread.parent) is not None}
    return replace(profile, root=root, loops=loops, threads=threads)


def _is_blank(node: Node) -> bool:
    return not (node.count or node.open or node.self_ns or node.concurrent_ns or node.wakers)


# Self time as a share of the run's time: above it, sections do not explain most of the time.
_UNKNOWN_SHARE = 0.5
# The same for self time of ticks, as a share of the time in sections: a larger part of a loop is no detail.
_UNKNOWN_IN_TICKS = 0.25
# A section's samples are kept if this share of the run's time is a wait that is not marked and fills most of the
# section's self time, or a line of note.
_NOTABLE_SHARE = 0.1
_BLOCKED_SHARE = 0.5
# A thread that waits for the interpreter for this part of a marked wait could run, but does not.
_WAKES_LATE_SHARE = 0.05
_BLOCKED_STATES = frozenset({"gil", "lock", "io", "blocked"})


def with_samples(
    profile: Profile,
    stack_samples: StackSamples,
    path_of: Callable[[ProcessKey, int], str],
    noted_lines: NotedLines,
) -> Profile:
    """Return the profile with the samples of its nodes' self time.

    Samples that were not requested were taken, at a lower rate, in case sections do not explain most of the time. If
    sections do, these samples are left out, except for sections with a wait that is not marked, or with lines of note.
    `path_of` returns a node's path by its process and reference.
    """
    if not (stack_samples.stacks or stack_samples.dropped):
        return profile
    root = profile.root
    ticks_ns = sum(node.self_ns for path, _, node in root.walk() if path in profile.loops)
    is_explained = (
        root.works_below
        and root.self_ns <= _UNKNOWN_SHARE * root.total_ns
        and ticks_ns <= _UNKNOWN_IN_TICKS * (root.total_ns - root.self_ns)
    )
    known_paths = {path for path, _, _ in root.walk()}
    stacks: dict[SampledStack, Weight] = {}
    for sample, weight in stack_samples.stacks.items():
        path = path_of(sample.process, sample.node)
        if path in known_paths:
            stack = SampledStack(path, sample.thread, sample.state, sample.lines)
            stacks[stack] = stacks[stack] + weight if stack in stacks else weight
    samples = Samples(
        stacks, stack_samples.dropped, stack_samples.late, stack_samples.rounds, stack_samples.cpu_ns
    )
    if is_explained and not stack_samples.is_requested:
        notable_paths = set(_notable_paths(samples, root, noted_lines))
        if not notable_paths:
            return profile
        waits_for_gil = any(stack.state == "gil" and stack.path in notable_paths for stack in stacks)
        notable_stacks = {
            stack: weight
            for stack, weight in stacks.items()
            if stack.path in notable_paths or (waits_for_gil and stack.thread)  # it may hold it
        }
        samples = replace(samples, stacks=notable_stacks)
    return replace(profile, samples=samples)


def _notable_paths(samples: Samples, root: Node, noted_lines: NotedLines) -> Iterator[str]:
    """Yield the paths of sections whose samples show a wait that is not marked, or lines of note."""
    for path, stacks in samples.by_path().items():
        node = root.at(path)
        if node.self_ns < _NOTABLE_SHARE * root.total_ns:
            continue
        total_ns = sum(weight.ns for weight in stacks.values())
        if node.wait:
            gil_ns = sum(weight.ns for stack, weight in stacks.items() if stack.state == "gil")
            if gil_ns > _WAKES_LATE_SHARE * total_ns:
                yield path
            continue
        waited_ns = sum(weight.ns for stack, weight in stacks.items() if stack.state in _BLOCKED_STATES)
        noted_ns = sum(weight.ns for stack, weight in stacks.items() if kind_of(stack, noted_lines))
        is_noted = noted_ns * node.self_ns >= _NOTABLE_SHARE * total_ns * root.total_ns
        # Outside all sections a program may wait for anything.
        if (path and waited_ns > _BLOCKED_SHARE * total_ns) or (noted_ns and is_noted):
            yield path


MAX_SEPARATE = 256


def merge_short_lived(profile: Profile, max_separate: int = MAX_SEPARATE) -> Profile:
    """Return the profile with at most `max_separate` separate processes per role; no sum changes.

    Those that lived longest stay separate. Merged processes cannot be separated again.
    """
    groups = _find_groups(profile.threads.values(), max_separate)
    if not groups:
        return profile
    new_ids = {member.id: group.id for group, members in groups for member in members}

    def new_id(thread: str) -> str:
        return new_ids.get(thread, thread)

    separate = {key: thread for key, thread in profile.threads.items() if key not in new_ids}
    return rename_threads(profile, new_id, {**separate, **{group.id: group for group, _ in groups}})


def _find_groups(threads: Iterable[Thread], max_separate: int) -> list[tuple[Thread, list[Thread]]]:
    """Return the short-lived processes of a role as one thread per kind of thread, with its members."""
    by_role: dict[tuple[str, str], list[list[Thread]]] = defaultdict(list)
    for main, members in by_process(threads):
        by_role[main.run, main.role or role_of(main.process_name)].append(members)
    groups = []
    for processes in by_role.values():
        processes.sort(key=lambda members: (-max(map(_lived_ns, members)), members[0].process))
        by_kind: dict[tuple[bool, str], list[Thread]] = defaultdict(list)
        for members in processes[max_separate:]:
            for thread in members:
                kind = "" if thread.is_main else thread.role or role_of(thread.thread_name)
                by_kind[thread.is_main, kind].append(thread)
        groups += [(_merge_members(members), members) for members in by_kind.values() if len(members) > 1]
    return groups


def _merge_members(members: list[Thread]) -> Thread:
    first = min(members, key=lambda member: (member.started_ns or 0, member.id))
    parents = {member.parent for member in members}
    return replace(
        first,
        parent=first.parent if len(parents) == 1 else "",
        last_ns=max((member.last_ns for member in members if member.last_ns is not None), default=None),
        members=len({member.process for member in members}),
    )


def _lived_ns(thread: Thread) -> int:
    return (thread.last_ns or 0) - (thread.started_ns or 0)


def read_run(run: RunFiles) -> Profile:
    """Return the profile of a run so far, from its files as they are now.

    A damaged file is left out and counted as a loss, as long as another one is valid.

    Raises:
        DamagedError: No file could be read; the error is that of the first.
    """
    records = read_records(run, lambda path: _read_image(path, run))
    folded = records.folded
    joiner = Joiner(run.id, NodeLocations(folded.locations))
    joiner.wakes.add_unresolved(folded.unresolved, folded.longest)
    joiner.errors.extend(records.errors.values())
    profile = joiner.join(records.images.values())
    if joiner.errors and not (joiner.files or folded.files):
        raise joiner.errors[0]
    names = {*(path.name for path in (*records.images, *records.errors)), *folded.files}
    without_room = count_without_room(run, names)
    losses = Profile(losses={WITHOUT_ROOM_LOSS: without_room} if without_room else {})
    parts = (folded.profile, _read_gauges(run), read_parts(run), losses, read_instrument_losses(run))
    merged = profile.merge(*parts)
    noted_lines = read_noted_lines(str(run.manifest.metadata.get(SAMPLED_LINES, "")))
    return merge_short_lived(
        with_samples(drop_blanks(merged), _read_samples(run), joiner.path_of, noted_lines)
    )


def _read_gauges(run: RunFiles) -> Profile:
    """Return the readings of the machine, if a supervisor took any."""
    try:
        return Profile(gauges=read_gauges(run.memory_dir))
    except DamagedError:
        return Profile(losses={"machine_readings_damaged": 1})


def _read_samples(run: RunFiles) -> StackSamples:
    """Return the stack samples, if any were taken."""
    try:
        return read_samples(run.memory_dir)
    except DamagedError:
        return StackSamples(dropped={"samples_damaged": 1})


def _read_image(path: Path, run: RunFiles) -> Image:
    image = Image.of_file(path)
    if not image.header.flags & HeaderFlag.RECORDING:
        return image
    program = image.writer
    process = run.manifest.owner.with_process(program.pid, program.start)
    if path.with_name(f"{program._replace(incarnation=program.incarnation + 1)}.tt").exists():
        return image
    # A process reads its clock when it ends a call, which may be minutes apart; a dead process no longer does, nor
    # does one that runs another program now. The supervisor knows when the run's first process died.
    if process.is_alive():
        image.advance_to(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    elif not image.parent.pid:
        image.advance_to(run.manifest.program_ended_ns)
    return image


def read_images(images: Iterable[Image], run_id: str, errors: list[DamagedError]) -> Profile:
    """Return the profile of several processes, each a child of the node that was open when it was started.

    Damaged files are left out, and their errors added to `errors`.
    """
    joiner = Joiner(run_id)
    joiner.errors = errors
    return drop_blanks(joiner.join(images))
