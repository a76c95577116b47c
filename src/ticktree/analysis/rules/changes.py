"""Rules about changes during a run: ticks that become slower throughout it, or from one moment on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.drift import Kind as ChangeKind
from ticktree.analysis.drift import LoopChange, Segment, loop_change, time_in_windows
from ticktree.analysis.finding import Claim, Finding, Kind
from ticktree.analysis.loop_views import path_share
from ticktree.analysis.machine import Machine, doubt_of, others_varied
from ticktree.analysis.rules import Facts, finding
from ticktree.profile import Loop, Node
from ticktree.profile import path as paths

# With a smaller share, a section does not explain a change: other sections explain as much.
EXPLAINED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """The section that explains a change.

    Attributes:
        path: its path; the loop's path if no section explains it.
        share: of the change, without concurrent time; 1 for the loop itself.
        before_ns: its time per tick before the change.
        after_ns: its time per tick after it.
    """

    path: str
    share: float
    before_ns: float
    after_ns: float


@dataclass(frozen=True, slots=True)
class ChangedLoop:
    """A loop whose ticks changed in the run.

    Attributes:
        loop: the loop.
        change: the change of its ticks.
        width_ns: length of the windows in which the change is expressed.
        cause: the section that explains it.
        lost_ns: what would be saved if all its ticks were as fast as the fast ones.
    """

    loop: Loop
    change: LoopChange
    width_ns: int
    cause: ChangeCause
    lost_ns: float


def changed_loops(context: Context, change_kind: ChangeKind) -> Iterator[ChangedLoop]:
    """Yield the loops with a change of this kind, in the order of their paths.

    Loops of several runs are left out, because each run has its own change, and so are loops of several threads: when
    one thread ends, the mean changes, but not the speed of the others.
    """
    for path, loop in sorted(context.profile.loops.items()):
        node = context.profile.root.at(path)
        threads = sum(1 for share in node.by_thread.values() if share.count)
        if len(node.per_run) > 1 or threads > 1:
            continue
        change = loop_change(node)
        if change is not None and change.kind == change_kind:
            cause = _cause(path, node, change)
            yield ChangedLoop(loop, change, node.windows.width_ns, cause, _lost_ns(change))


def _lost_ns(change: LoopChange) -> float:
    change_ns = abs(change.after_ns - change.before_ns)
    if change.kind == "trend":  # half of the ticks times half of the change, on either side of the middle
        return _ticks((*change.before, *change.after)) * 1.5 * change_ns / 2
    is_slower = change.after_ns > change.before_ns
    return _ticks(change.after if is_slower else (*change.before, *change.rest)) * change_ns


def _ticks(periods: Iterable[Segment]) -> int:
    return sum(period.ticks for period in periods)


def _cause(path: str, node: Node, change: LoopChange) -> ChangeCause:
    """Return the section furthest down that explains most of the change of a loop's ticks."""
    width_ns = node.windows.width_ns
    before, after = (*change.before, *change.rest), change.after
    before_ns, after_ns = (
        sum(period.total_ns for period in periods) / _ticks(periods) for periods in (before, after)
    )
    change_ns = after_ns - before_ns
    cause, weight = ChangeCause(path, 1.0, before_ns, after_ns), 1.0
    while node.children and change_ns:
        causes = [
            ChangeCause(paths.child(cause.path, name), weight * path_share(child) * (b - a) / change_ns, a, b)
            for name, child in node.children.items()
            if child.windows.counts
            for a, b in [(_per_tick_ns(child, width_ns, before), _per_tick_ns(child, width_ns, after))]
        ]
        largest = max(causes, key=lambda candidate: (candidate.share, candidate.path), default=None)
        if largest is None or largest.share < EXPLAINED_SHARE:
            break
        cause, node = largest, node.children[paths.split(largest.path)[-1]]
        weight *= path_share(node)
    return cause


def _per_tick_ns(node: Node, width_ns: int, periods: Sequence[Segment]) -> float:
    """Return a section's time per tick of the loop in these periods."""
    if node.windows.width_ns > width_ns:  # the part of a wider window that lies in a period is unknown
        return 0.0
    total_ns = sum(time_in_windows(node.windows, width_ns, period.first, period.last) for period in periods)
    return total_ns / _ticks(periods)


class DriftRule:
    """A loop's ticks become slower, or faster, throughout the run.

    Finds each loop whose time per tick rises or falls from its beginning to its end; see docs/rules/drift.md.
    """

    name: ClassVar[str] = "drift"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop with a trend (defined in analysis/drift.py)."""
        return _findings(self.name, context, "trend")


class PhaseChangeRule:
    """A loop's ticks change to another level at a moment of the run.

    Finds each loop whose time per tick is different from one moment on; see docs/rules/phase-change.md.
    """

    name: ClassVar[str] = "phase-change"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop with a step (defined in analysis/drift.py)."""
        return _findings(self.name, context, "step")


def _findings(rule: str, context: Context, change_kind: ChangeKind) -> Iterator[Finding]:
    # Where the run lacked cores, or other processes used more of them at times, the change may be due to that.
    machine = Machine(context.profile)
    doubt = doubt_of(machine) or ("others" if others_varied(machine) else None)
    for changed in changed_loops(context, change_kind):
        # A loop that becomes faster leaves nothing to do: caches fill, or the warm-up set aside was too short.
        kind: Kind = "measurement" if doubt or changed.change.change < 0 else "recommendation"
        claim = Claim(changed.lost_ns / context.run_ns if context.run_ns else 0.0)
        yield finding(rule, changed.cause.path, {**_facts(changed), "doubt": doubt}, claim, kind=kind)


def _facts(changed: ChangedLoop) -> Facts:
    change, cause = changed.change, changed.cause
    facts: Facts = {
        "changed_loop": changed.loop.path,
        "tick_before_ns": change.before_ns,
        "tick_after_ns": change.after_ns,
        "ticks": changed.loop.stats.count,
    }
    if cause.path != changed.loop.path:
        facts |= {
            "section": cause.path,
            "explained_share": min(1.0, cause.share),
            "section_before_ns": cause.before_ns,
            "section_after_ns": cause.after_ns,
        }
    if change.kind == "step":
        facts["ticks"] = _ticks((*change.before, *change.after, *change.rest))
        facts["from_ns"] = change.after[0].first * changed.width_ns
        if not change.lasts:
            facts["until_ns"] = (change.after[-1].last + 1) * changed.width_ns
    return facts
