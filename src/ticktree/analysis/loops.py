"""The loop model: what a loop's mean tick consists of, and what the loop gains if a part of it takes no time.

Rules, tables, pages and charts use this model and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ticktree.analysis.categories import Within, is_pacing, is_sleep, within
from ticktree.analysis.places import TELLING_SHARE, counts
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.clock import HOST
from ticktree.profile.short_names import ShortNames

NS_PER_SECOND = 1_000_000_000
# A section of which less is on the loop's path than runs concurrently is not what the loop waits for.
CONCURRENT_SHARE = 0.5
# One late tick in a thousand is any busy machine's. Our own choice.
MISSES_SHARE = 0.001
# Of the loops that miss nothing, those that were busy for so much of the busiest one's time matter; two fill a screen.
MAIN_SHARE = 0.3
MAIN_LOOPS = 2
# Loops whose busy times differ by less are equally busy: their order must not change from run to run.
ALIKE_SHARE = 0.75

Categorize = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Saving:
    """What a loop, or a run without loops, gains at most if a part of its tick takes no time.

    Amdahl, Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967: of a
    tick of T, without its part x, T - x remains. A loop that sleeps to hold its rate gains no rate: it sleeps longer.

    Attributes:
        tick_ns: the mean tick, or the length of the run.
        needed_ns: the tick without the sleep that holds the rate.
        removed_ns: what of `needed_ns` would take no time.
        held_ns: the shortest tick that the loop's rate allows; 0 where the loop does not sleep to hold one.
    """

    tick_ns: float
    needed_ns: float
    removed_ns: float
    held_ns: float = 0.0

    @property
    def ns(self) -> float:
        """How much shorter the mean tick, or the run, would be."""
        return max(0.0, self.tick_ns - max(self.free_ns, self.held_ns))

    @property
    def share(self) -> float:
        """The same as a part of the tick, or of the run."""
        return self.ns / self.tick_ns if self.tick_ns > 0 else 0.0

    @property
    def headroom_ns(self) -> float:
        """How much longer each tick could sleep, or work: what a loop that holds its rate gains."""
        return self.removed_ns

    @property
    def limited_by_rate(self) -> bool:
        """Whether the loop would gain more if it did not hold a rate."""
        return self.ns < self.removed_ns

    @property
    def free_ns(self) -> float:
        """What would be left of `needed_ns`."""
        return max(0.0, self.needed_ns - self.removed_ns)

    @property
    def hz(self) -> float | None:
        """Ticks per second that the loop can do; None where its ticks take no time."""
        return NS_PER_SECOND / self.needed_ns if self.needed_ns > 0 else None

    @property
    def free_hz(self) -> float | None:
        """Ticks per second without the part; None where nothing would be left of the tick."""
        return NS_PER_SECOND / self.free_ns if self._is_left else None

    @property
    def speedup(self) -> float | None:
        """How many times as fast the loop could be; None where nothing would be left of the tick."""
        return self.needed_ns / self.free_ns if self._is_left else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as `report --format json` writes it."""
        return {
            "ns": round(self.ns),
            "share": self.share,
            "headroom_ns": round(self.headroom_ns),
            "limited_by_rate": self.limited_by_rate,
        }

    @property
    def _is_left(self) -> bool:
        # What is left of a subtraction of large numbers may be nothing but their rounding.
        return self.free_ns > 1e-9 * self.needed_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView:
    """A node as a part of a loop's mean steady tick. Times are nanoseconds per tick, or of the whole run.

    Attributes:
        loop: whose tick; None where it is of the run.
        node: the node.
        path: of the node.
        self_ns: in which the loop was here and in no child, less what ticktree itself cost. The self times of all
            sections and what ticktree cost sum to the tick.
        total_ns: in which the loop was here or below.
        beside_ns: self time that other threads, tasks or processes spent here while the loop continued with something
            else; also what `record_duration` was given.
        recorder_ns: what ticktree itself cost here.
        calls: calls in a steady tick, on average.
        is_wait: whether it waits rather than works, or is in a wait.
        is_slack: whether it is the sleep with which the loop holds its rate, whoever wrote it: time to spare.
        is_loop: whether it is a loop of its own, whose nodes are that loop's sections and not this one's.
        parent: path of the section it is in; None of the first.
        category: what sort of work it is: by its name, else its parent's; "waiting" of a wait.
    """

    loop: Loop | None
    node: Node
    path: str
    self_ns: float
    total_ns: float
    beside_ns: float
    recorder_ns: float
    calls: float
    is_wait: bool
    is_slack: bool
    is_loop: bool
    parent: str | None
    category: str | None

    @property
    def is_parallel(self) -> bool:
        """Whether more of it runs concurrently with the loop than on its path."""
        return self.beside_ns > 0 and self.self_ns < CONCURRENT_SHARE * (self.self_ns + self.beside_ns)

    @property
    def has_sections(self) -> bool:
        """Whether anything is a part of its time: what a device or another program did concurrently is not."""
        below = self.node.children.values()
        return any(child.clock == HOST or child.concurrent_ns < child.total_ns for child in below)


@dataclass(frozen=True)
class LoopView:
    """A loop's mean steady tick; of a run in which no loop has steady ticks, the run as one tick.

    Attributes:
        loop: None of the run.
        path: of the loop's node; "" of the run.
        ticks: how many steady ticks; 1 of the run.
        tick_ns: the mean steady tick; the length of the run.
        sections: its parts, parents before their children.
        threads: how many threads run the loop, each for itself.
        on_main_thread: whether the main thread of the main process runs it.
        names: what nodes are called for short.
    """

    loop: Loop | None
    path: str
    ticks: int
    tick_ns: float
    sections: tuple[SectionView, ...]
    threads: int = 1
    on_main_thread: bool = True
    names: ShortNames = field(default_factory=ShortNames, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What the loop is called for short; "" of the run."""
        return self.names.of_path(self.path)

    @property
    def misses(self) -> bool:
        """Whether the loop misses more than one tick in a thousand."""
        return self.loop is not None and self.loop.missed > MISSES_SHARE * self.ticks

    @cached_property
    def slack_ns(self) -> float:
        """What of the tick the loop slept to hold its rate."""
        return sum(section.self_ns for section in self.sections if section.is_slack)

    @cached_property
    def busy_ns(self) -> float:
        """The tick less all that it waited or slept on the loop's own path."""
        return self.tick_ns - sum(section.self_ns for section in self.sections if section.is_wait)

    @cached_property
    def recorder_ns(self) -> float:
        """What of the tick ticktree itself cost."""
        return sum(section.recorder_ns for section in self.sections)

    def saving(self, ns: float) -> Saving:
        """Return what the loop gains at most if `ns` of its mean tick took no time."""
        needed_ns = self.tick_ns - self.slack_ns
        removed_ns = min(max(0.0, ns), needed_ns)
        return Saving(self.tick_ns, needed_ns, removed_ns, self._held_ns)

    @property
    def _held_ns(self) -> float:
        if not self.slack_ns:
            return 0.0
        budget_ns = self.loop.budget_ns if self.loop else None
        # A loop that sleeps and declares no rate holds the one it has.
        return self.tick_ns if budget_ns is None else budget_ns

    def name_of(self, section: SectionView) -> str:
        """Return the short names that lead to `section` from the loop, to be read; of the loop, its own name."""
        names = paths.split(section.path)
        return self.names.joined(names[len(paths.split(self.path)) :]) or self.names.joined(names[-1:])


def loop_views(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> list[LoopView]:
    """Return the loops that have steady ticks, in the order in which all outputs show them; the run where none has.

    Loops that miss ticks come first, then those of the main process's main thread, then the busiest.

    Args:
        profile: what was recorded.
        categorize: returns a name's category.
        names: what nodes are called for short; None to make them.
    """
    names = names or ShortNames(profile.root)
    found = [
        _view(loop, path, profile, categorize, names)
        for path, loop in profile.loops.items()
        if loop.stats.count and loop.stats.sum_ns > 0
    ]
    if not found and profile.root.total_ns > 0:
        return [_view(None, paths.ROOT, profile, categorize, names)]
    return _ordered(found)


def main_loops(found: Sequence[LoopView]) -> list[LoopView]:
    """Return the loops that a report leads with: all that miss ticks, or else at most two of the busiest.

    Of a loop in another one that it fills, the inner one.
    """
    missing = [view for view in found if view.misses]
    busiest_ns = max((_busy_in_all_ns(view) for view in found), default=0.0)
    busy = [
        view
        for view in found
        if not view.misses and _busy_in_all_ns(view) >= MAIN_SHARE * busiest_ns and not _is_filled(view)
    ]
    return missing + busy[: max(0, MAIN_LOOPS - len(missing))]


def _ordered(found: Sequence[LoopView]) -> list[LoopView]:
    order = [
        (not view.misses, not view.on_main_thread, rank, view.path, view)
        for rank, alike in enumerate(_alike(found))
        for view in alike
    ]
    return [view for *_, view in sorted(order, key=lambda entry: entry[:-1])]


def _alike(found: Sequence[LoopView]) -> list[list[LoopView]]:
    """Groups of equally busy loops, the busiest first."""
    groups: list[list[LoopView]] = []
    for view in sorted(found, key=lambda view: -_busy_in_all_ns(view)):
        if groups and _busy_in_all_ns(view) >= ALIKE_SHARE * _busy_in_all_ns(groups[-1][0]):
            groups[-1].append(view)
        else:
            groups.append([view])
    return groups


def _busy_in_all_ns(view: LoopView) -> float:
    return view.busy_ns * view.ticks / view.threads


def _is_filled(view: LoopView) -> bool:
    return any(
        section.is_loop and section.self_ns >= TELLING_SHARE * view.tick_ns for section in view.sections
    )


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node on the walk through a tick: what part of its time is on the loop's path, and what is concurrent."""

    path: str
    node: Node
    parent: str | None
    on_path: float
    beside: float
    is_wait: bool
    is_pacing: bool
    within: Within


def _view(
    loop: Loop | None, path: str, profile: Profile, categorize: Categorize, names: ShortNames
) -> LoopView:
    node = profile.root.at(path)
    ticks, whole_ns = (loop.stats.count, loop.stats.sum_ns) if loop else (1, node.total_ns)
    inside = _within(profile, path, categorize)
    first = _Visit(path, node, None, 1.0, 0.0, node.wait, loop is not None, inside)
    sections = tuple(_sections(loop, first, profile.loops, categorize, ticks, whole_ns))
    writers = [writer for writer, share in node.by_writer.items() if share.count]
    is_main = not profile.writers or not loop or any(writer in _main_writers(profile) for writer in writers)
    return LoopView(loop, path, ticks, whole_ns / ticks, sections, max(1, len(writers)), is_main, names)


def _main_writers(profile: Profile) -> set[str]:
    """The main thread of the process that started first, of each run."""
    first: dict[str, tuple[float, str]] = {}
    for writer in profile.writers.values():
        if writer.is_main:
            started = float("inf") if writer.started_ns is None else writer.started_ns
            first[writer.run] = min(first.get(writer.run, (started, writer.id)), (started, writer.id))
    return {writer for _, writer in first.values()}


def _sections(
    loop: Loop | None,
    first: _Visit,
    loops: Mapping[str, Loop],
    categorize: Categorize,
    ticks: int,
    whole_ns: float,
) -> Iterator[SectionView]:
    waiting = [first]
    while waiting:
        at = waiting.pop()
        took_ns = whole_ns if at is first else _took_ns(at.node, loop)
        is_loop = at is not first and at.path in loops
        below = {} if is_loop else {name: _below(child, loop) for name, child in at.node.children.items()}
        covered_ns = sum(ns for ns, _ in below.values())
        self_ns = max(0.0, took_ns - covered_ns)
        recorder_ns = min(self_ns, _recorder_ns(at.node, loop, whole=is_loop))
        yield SectionView(
            loop=loop,
            node=at.node,
            path=at.path,
            self_ns=at.on_path * (self_ns - recorder_ns) / ticks,
            total_ns=at.on_path * took_ns / ticks,
            beside_ns=at.beside * self_ns / ticks,
            recorder_ns=at.on_path * recorder_ns / ticks,
            calls=(at.node.steady.count if loop else at.node.count) / ticks,
            is_wait=at.is_wait or (at.is_pacing and is_sleep(at.node.name)),
            is_slack=at.is_pacing and at is not first and is_sleep(at.node.name),
            is_loop=is_loop,
            parent=at.parent,
            category=at.within.category,
        )
        # Calls that have not ended, and what is left out of order, may make the parts more than the whole: they are
        # made to fit, so that the tick sums.
        fitted = min(1.0, took_ns / covered_ns) if covered_ns > 0 else 1.0
        is_body = took_ns >= TELLING_SHARE * whole_ns or is_pacing(at.node.name) or is_sleep(at.node.name)
        waiting.extend(
            _visit(at, name, below[name][1], fitted, categorize, loops, may_pace=at.is_pacing and is_body)
            for name in reversed(below)
        )


def _visit(
    at: _Visit,
    name: str,
    share: float,
    fitted: float,
    categorize: Categorize,
    loops: Mapping[str, Loop],
    *,
    may_pace: bool,
) -> _Visit:
    """Return the visit to a child, of whose time `share` is its parent's and of that `fitted` has room there."""
    child, path = at.node.children[name], paths.child(at.path, name)
    return _Visit(
        path=path,
        node=child,
        parent=at.path,
        on_path=at.on_path * share * fitted,
        beside=1 - (1 - at.beside) * share,
        is_wait=at.is_wait or child.wait,
        is_pacing=may_pace,
        within=within(child, at.within, categorize, is_loop=path in loops),
    )


def _within(profile: Profile, path: str, categorize: Categorize) -> Within:
    """Return what the node at `path` is in; the root is in nothing."""
    node, at, found = profile.root, paths.ROOT, Within()
    for name in paths.split(path):
        node, at = node.children[name], paths.child(at, name)
        found = within(node, found, categorize, is_loop=at in profile.loops)
    return found


def _took_ns(node: Node, loop: Loop | None) -> float:
    """Return how long all steady calls of `node` took; of the run, all of its time."""
    return max(0, node.total_ns) if loop is None else node.steady.sum_ns


def _below(child: Node, loop: Loop | None) -> tuple[float, float]:
    """Return what of the parent's time is the child's, and what part of the child's time that is."""
    share = counts(child)
    return _took_ns(child, loop) * share, share


def _recorder_ns(node: Node, loop: Loop | None, whole: bool) -> float:
    """Return what ticktree itself cost in the steady calls of `node`; `whole`: and below it."""
    nodes = (each for _, _, each in node.walk()) if whole else (node,)
    return sum(
        each.recorder_ns * (each.steady.count / each.count if loop and each.count else 1.0) for each in nodes
    )
