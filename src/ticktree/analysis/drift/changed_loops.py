"""The loops whose course over time can be told, and what of a change a section below them explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.drift.changes import Course, Kind, course_of
from ticktree.analysis.drift.windows import Stretch, in_windows
from ticktree.analysis.loop_views import counts
from ticktree.analysis.survey import Survey
from ticktree.profile import Loop, Node
from ticktree.profile import path as paths

# Of less it cannot be said that a section explains a change: others explain as much.
EXPLAINED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Cause:
    """The section that explains a change.

    Attributes:
        path: its path; the loop's own where no section explains it.
        share: how much of the change, without what ran beside the loop; 1 for the loop itself.
        before_ns: its time a tick before the change.
        after_ns: its time a tick after it.
    """

    path: str
    share: float
    before_ns: float
    after_ns: float


@dataclass(frozen=True, slots=True)
class Changed:
    """A loop whose ticks changed in the run.

    Attributes:
        loop: which.
        course: how.
        width_ns: length of the windows in which the course is given.
        cause: what explains it.
        lost_ns: what would be saved, were all its ticks as fast as its fast ones.
    """

    loop: Loop
    course: Course
    width_ns: int
    cause: Cause
    lost_ns: float


def changed_loops(seen: Survey, kind: Kind) -> Iterator[Changed]:
    """Yield the loops with a course of this kind, in the order of their paths.

    Left out are loops of several runs, which have no one course, and loops that several threads go round: one of them
    that ends changes what is left, and not how fast it is.
    """
    for path, loop in sorted(seen.profile.loops.items()):
        node = seen.profile.root.at(path)
        goers = sum(1 for share in node.by_writer.values() if share.count)
        if len(node.per_run) > 1 or goers > 1:
            continue
        course = course_of(node)
        if course is not None and course.kind == kind:
            yield Changed(loop, course, node.windows.width_ns, _cause(path, node, course), _lost_ns(course))


def _lost_ns(course: Course) -> float:
    if course.kind == "trend":  # half of the ticks times half of the way, on either side of the middle
        ticks = sum(each.ticks for each in (*course.before, *course.after)) * 1.5
        return ticks * abs(course.after_ns - course.before_ns) / 2
    slow = course.after if course.after_ns > course.before_ns else (*course.before, *course.rest)
    return sum(each.ticks for each in slow) * abs(course.after_ns - course.before_ns)


def _cause(path: str, node: Node, course: Course) -> Cause:
    """Return the section furthest down that explains most of the change of a loop's ticks."""
    width_ns = node.windows.width_ns
    at_first, then = (*course.before, *course.rest), course.after
    before_ns, after_ns = _a_tick(node, width_ns, node, at_first), _a_tick(node, width_ns, node, then)
    whole_ns = after_ns - before_ns
    cause, counted = Cause(path, 1.0, before_ns, after_ns), 1.0
    while node.children and whole_ns:
        parts = [
            Cause(paths.child(cause.path, name), counted * counts(child) * (b - a) / whole_ns, a, b)
            for name, child in node.children.items()
            if child.windows.counts
            for a, b in [(_a_tick(child, width_ns, None, at_first), _a_tick(child, width_ns, None, then))]
        ]
        most = max(parts, key=lambda part: (part.share, part.path), default=None)
        if most is None or most.share < EXPLAINED_SHARE:
            break
        cause, node = most, node.children[paths.split(most.path)[-1]]
        counted *= counts(node)
    return cause


def _a_tick(node: Node, width_ns: int, loop: Node | None, stretches: Sequence[Stretch]) -> float:
    """Return a node's time a tick of the loop in these stretches."""
    ticks = sum(each.ticks for each in stretches)
    if loop is not None:
        return sum(each.total_ns for each in stretches) / ticks
    if node.windows.width_ns > width_ns:  # of which part of a wider window nobody knows
        return 0.0
    return sum(in_windows(node.windows, width_ns, each.first, each.last) for each in stretches) / ticks
