"""Read memory files into a profile."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.profile import Node, Profile, SampledStack, Samples, Weight, Writer
from ticktree.profile import path as paths
from ticktree.profile.codec import collector_paused
from ticktree.profile.noted_lines import SAMPLED_LINES, NotedLines, kind_of, read_noted_lines
from ticktree.profile.renaming import renamed
from ticktree.profile.writer import by_process
from ticktree.run.folded import gather
from ticktree.run.losses import LOSS, count_without_room, read_instrument_losses
from ticktree.run.memory import ProcessKey
from ticktree.run.observed import Sampled, kept_gauges, kept_samples
from ticktree.run.parts import read_parts
from ticktree.run.reading.accounts import role_of
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.joining import Joining
from ticktree.run.reading.layout import HeaderFlag
from ticktree.run.reading.tree import NodeLocations

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles


# Changes to the profile of a whole run: leave out blank nodes, merge crowds of workers, and add samples.
#
# A blank node is a section that was only entered before a reset, or never. A crowd: if a run has had hundreds of
# processes of one role, the short-lived ones are merged into one writer. One column or line per worker of five
# thousand is of no use, and takes space in every file. The longest-lived ones stay separate: stragglers and
# workers of the whole run are among them.
#
# Samples are added here because a sample names a node by the file it was in.


def without_blanks(profile: Profile) -> Profile:
    """Return the profile without nodes that have no completed or open call, no time and no children.

    Their loops and the threads that were started in them are left out, too. Only of a whole run: a node that is blank
    in one process's file may not be in another's.
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
        writers={key: own for key, own in profile.writers.items() if root.find(own.parent) is not None},
    )


def _is_blank(node: Node) -> bool:
    return not (node.count or node.open or node.self_ns or node.concurrent_ns or node.wakers)


# Self time as a share of the run's time: above it, sections do not explain most of the time.
_UNKNOWN_SHARE = 0.5
# The same for self time of ticks, as a share of the time in sections: a larger part of a loop is no detail.
_UNKNOWN_IN_TICKS = 0.25
# A section is worth a look into if what its samples show has this share of the run's time: a wait that is not marked
# so and fills most of its self time, or a line of note.
_TELLING_RUN_SHARE = 0.1
_BLOCKED_SHARE = 0.5
# A thread that waits for the interpreter for this part of a marked wait could run, and does not.
_WAKES_LATE_SHARE = 0.05
_BLOCKED_STATES = frozenset({"gil", "lock", "io", "blocked"})


def with_samples(
    profile: Profile, sampled: Sampled, path_of: Callable[[ProcessKey, int], str], noted: NotedLines
) -> Profile:
    """Return the profile with the samples of its nodes' self time.

    Samples that were not requested are left out if sections explain most of the time, but for sections that wait and
    are not marked so, and for those with lines of note: they were taken in case sections did not, and then at a lower
    rate. `path_of` returns a node's path by its process and reference.
    """
    root = profile.root
    ticks_ns = sum(node.self_ns for path, _, node in root.walk() if path in profile.loops)
    is_explained = (
        root.works_below
        and root.self_ns <= _UNKNOWN_SHARE * root.total_ns
        and ticks_ns <= _UNKNOWN_IN_TICKS * (root.total_ns - root.self_ns)
    )
    if not (sampled.stacks or sampled.dropped):
        return profile
    known = {path for path, _, _ in root.walk()}
    stacks: dict[SampledStack, Weight] = {}
    for sample, weight in sampled.stacks.items():
        path = path_of(sample.process, sample.node)
        if path in known:
            stack = SampledStack(path, sample.thread, sample.state, sample.lines)
            stacks[stack] = stacks[stack] + weight if stack in stacks else weight
    samples = Samples(stacks, sampled.dropped, sampled.late, sampled.looks, sampled.cpu_ns)
    if is_explained and not sampled.is_requested:
        telling = set(_telling(samples, root, noted))
        if not telling:
            return profile
        waits_for_gil = any(stack.state == "gil" and stack.path in telling for stack in stacks)
        kept = {
            stack: weight
            for stack, weight in stacks.items()
            if stack.path in telling or (waits_for_gil and stack.thread)  # which holds it
        }
        samples = replace(samples, stacks=kept)
    return replace(profile, samples=samples)


def _telling(samples: Samples, root: Node, noted: NotedLines) -> Iterator[str]:
    """Yield the paths of sections whose samples show a wait that is not marked, or lines of note."""
    for path, stacks in samples.by_path().items():
        node = root.at(path)
        if node.self_ns < _TELLING_RUN_SHARE * root.total_ns:
            continue
        all_ns = sum(weight.ns for weight in stacks.values())
        if node.wait:
            gil_ns = sum(weight.ns for stack, weight in stacks.items() if stack.state == "gil")
            if gil_ns > _WAKES_LATE_SHARE * all_ns:
                yield path
            continue
        waited_ns = sum(weight.ns for stack, weight in stacks.items() if stack.state in _BLOCKED_STATES)
        noted_ns = sum(weight.ns for stack, weight in stacks.items() if kind_of(stack, noted))
        is_noted = noted_ns * node.self_ns >= _TELLING_RUN_SHARE * all_ns * root.total_ns
        # Outside all sections a program may wait for anything.
        if (path and waited_ns > _BLOCKED_SHARE * all_ns) or (noted_ns and is_noted):
            yield path


KEPT_APART = 256


def merge_crowds(profile: Profile, kept_apart: int = KEPT_APART) -> Profile:
    """Return the profile with at most `kept_apart` separate processes per role; no sum changes.

    Those that lived longest stay separate. Merged processes cannot be separated again.
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
    """Return each crowd as one writer, with its members."""
    by_role: dict[tuple[str, str], list[list[Writer]]] = defaultdict(list)
    for main, threads in by_process(writers):
        by_role[main.run, main.role or role_of(main.process_name)].append(threads)
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


def read_run(run: RunFiles) -> Profile:
    """Return the profile of a run so far, from its files as they are now.

    A damaged file is left out and counted as a loss, as long as another one is valid.

    Raises:
        DamagedError: No file could be read; the error is that of the first.
    """
    gathered = gather(run, lambda path: _image_of(path, run))
    folded = gathered.folded
    joining = Joining(run.id, NodeLocations(folded.places))
    joining.wakes.take(folded.loose, folded.longest)
    joining.errors.extend(gathered.errors.values())
    with collector_paused():
        for image in gathered.images.values():
            joining.add(image)
        whole = joining.profile()
    if joining.errors and not (joining.files or folded.files):
        raise joining.errors[0]
    known = {*(path.name for path in (*gathered.images, *gathered.errors)), *folded.files}
    without_room = count_without_room(run, known)
    lost = Profile(losses={LOSS: without_room} if without_room else {})
    merged = whole.merge(folded.profile, _machine(run), read_parts(run), lost, read_instrument_losses(run))
    noted = read_noted_lines(str(run.manifest.metadata.get(SAMPLED_LINES, "")))
    return merge_crowds(with_samples(without_blanks(merged), _sampled(run), joining.path_of, noted))


def _machine(run: RunFiles) -> Profile:
    """Return the readings of the machine, if a supervisor took any."""
    try:
        return Profile(gauges=kept_gauges(run.memory_dir))
    except DamagedError:
        return Profile(losses={"machine_readings_damaged": 1})


def _sampled(run: RunFiles) -> Sampled:
    """Return the stack samples, if any were taken."""
    try:
        return kept_samples(run.memory_dir)
    except DamagedError:
        return Sampled(dropped={"samples_damaged": 1})


def _image_of(path: Path, run: RunFiles) -> Image:
    image = Image.of_file(path)
    if not image.header.flags & HeaderFlag.RECORDING:
        return image
    writer = image.writer
    process = run.manifest.owner.with_process(writer.pid, writer.start)
    replaced = path.with_name(f"{writer._replace(incarnation=writer.incarnation + 1)}.tt").exists()
    # A process reads its clock when it ends a call, which may be minutes apart; a dead process does not any more, and
    # neither does one that runs another program now. The supervisor knows when the run's first process died.
    if not replaced and process.is_alive():
        image.advance_to(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    elif not replaced and not image.parent.pid:
        image.advance_to(run.manifest.program_ended_ns)
    return image


def read_images(images: Iterable[Image], run_id: str, errors: list[DamagedError]) -> Profile:
    """Return the profile of several processes, each a child of the node that was open when it was started.

    Damaged files are left out, and their errors added to `errors`.
    """
    joining = Joining(run_id)
    joining.errors = errors
    with collector_paused():
        for image in images:
            joining.add(image)
        profile = joining.profile()
    return without_blanks(profile)
