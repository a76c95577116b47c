"""Loop views: the mean ticks of a profile's loops, of its sections that are called often, and of the whole run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.categories import Within, is_pacing, is_sleep, within
from ticktree.analysis.loops import (
    CONCURRENT_SHARE,
    LEAST_TICKS,
    TELLING_SHARE,
    Categorize,
    LoopView,
    SectionView,
)
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST
from ticktree.profile.short_names import ShortNames

# Waits that have a timeout, as instruments call them. One in ten that something else ends may be the loop's last.
TIMED_WAITS = frozenset({"Event.wait", "Condition.wait", "select.select", "executor wait"})
WOKEN_SHARE = 0.1
# Loops whose busy times differ by less count as equally busy, so that their order does not change from run to run.
ALIKE_SHARE = 0.75


def run_view(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> LoopView:
    """Return the whole run as one tick, with every node of the tree, including those of its loops."""
    return _view(None, paths.ROOT, profile, categorize, names or ShortNames(profile.root))


def repeated_sections(run: LoopView, profile: Profile, categorize: Categorize) -> list[LoopView]:
    """Return the sections with ten or more calls, outside loops and outside one another, as loops."""
    found = []
    inside: set[str] = set()  # a loop or one of those
    for section in run.sections[1:]:  # parents before their children
        if section.is_remote:
            continue
        is_on_path = counts(section.node) >= CONCURRENT_SHARE
        is_inside = is_on_path and section.parent is not None and section.parent.path in inside
        if not is_inside and not section.is_loop and section.node.steady.count >= LEAST_TICKS:
            found.append(_view(None, section.path, profile, categorize, run.names))
            is_inside = True
        if is_inside or section.is_loop:
            inside.add(section.path)
    return found


def loop_views(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> list[LoopView]:
    """Return the loops that have steady ticks, in the order in which all outputs show them.

    Loops that miss ticks or do not reach their rate come first, then those of the main process's main thread, then the
    busiest.
    """
    names = names or ShortNames(profile.root)
    steady = {
        path: loop for path, loop in profile.loops.items() if loop.stats.count and loop.stats.sum_ns > 0
    }
    return _ordered([_view(loop, path, profile, categorize, names) for path, loop in steady.items()])


def _ordered(found: Sequence[LoopView]) -> list[LoopView]:
    """Order loops; those that are equally busy, of which the busiest come first, by path."""
    ranks: dict[str, int] = {}
    rank, busiest_ns = 0, 0.0
    for view in sorted(found, key=lambda view: -view.all_busy_ns):
        if view.all_busy_ns < ALIKE_SHARE * busiest_ns or not ranks:
            rank, busiest_ns = rank + 1, view.all_busy_ns
        ranks[view.path] = rank
    return sorted(
        found, key=lambda view: (not view.fails, not view.on_main_thread, ranks[view.path], view.path)
    )


def counts(node: Node) -> float:
    """Return what part of a node's time counts against the node around it: the rest ran concurrently."""
    if node.total_ns <= 0:
        return 0.0
    return min(1.0, max(0.0, (node.total_ns - node.concurrent_ns) / node.total_ns))


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node on the walk through a tick: what part of its time is on the loop's path, and what is concurrent."""

    path: str
    node: Node
    parent: SectionView | None
    on_path: float
    concurrent: float
    may_pace: bool
    is_remote: bool
    within: Within


def _view(
    loop: Loop | None, path: str, profile: Profile, categorize: Categorize, names: ShortNames
) -> LoopView:
    node = profile.root.at(path)
    writers = [writer for writer, share in node.by_writer.items() if share.count]
    is_main = not profile.writers or not loop or any(writer in _main_writers(profile) for writer in writers)
    steady = node.steady if loop is None else loop.stats
    ticks, whole_ns = (steady.count, steady.sum_ns) if path or loop is not None else (1, node.total_ns)
    view = LoopView(loop, path, ticks, max(0, whole_ns) / ticks, max(1, len(writers)), is_main, names)
    inside = _within(profile, path, categorize)
    waiting = [_Visit(path, node, None, 1.0, 0.0, loop is not None, _is_remote(node), inside)]
    while waiting:
        at = waiting.pop()
        section, below = _section(view, at, profile.loops)
        view.sections.append(section)
        if at.parent is not None:
            at.parent.below.append(section)
        waiting.extend(reversed(list(_visits(section, at, below, categorize, profile.loops))))
    return view


def _main_writers(profile: Profile) -> set[str]:
    """The main thread of the process that started first, of each run."""
    first: dict[str, tuple[float, str]] = {}
    for writer in profile.writers.values():
        if writer.is_main:
            started = float("inf") if writer.started_ns is None else writer.started_ns
            first[writer.run] = min(first.get(writer.run, (started, writer.id)), (started, writer.id))
    return {writer for _, writer in first.values()}


def _section(
    view: LoopView, at: _Visit, loops: Mapping[str, Loop]
) -> tuple[SectionView, Mapping[str, float]]:
    """Return the section of a visit, and how long each of its children took on its path, all ticks together."""
    node, is_first = at.node, at.parent is None
    took_ns = view.tick_ns * view.ticks if is_first else _took_ns(view, node)
    is_loop = not is_first and at.path in loops
    shown = {} if is_loop and not view.is_run else node.children
    below = {name: _took_ns(view, child) * counts(child) for name, child in shown.items()}
    self_ns = max(0.0, took_ns - sum(below.values()))
    recorder_ns = min(self_ns, _recorder_ns(view, node, whole=is_loop and not below))
    is_pacing_sleep = at.may_pace and not is_first and (is_sleep(node.name) or _is_timeout(at))
    section = SectionView(
        view=view,
        node=node,
        path=at.path,
        parent=at.parent,
        self_ns=at.on_path * (self_ns - recorder_ns) / view.ticks,
        total_ns=at.on_path * took_ns / view.ticks,
        concurrent_ns=at.concurrent * self_ns / view.ticks,
        recorder_ns=at.on_path * recorder_ns / view.ticks,
        calls=view.stats_of(node).count / view.ticks,
        is_wait=(at.parent is not None and at.parent.is_wait) or node.wait or is_pacing_sleep,
        is_slack=is_pacing_sleep,
        is_loop=is_loop,
        is_remote=at.is_remote,
        category=at.within.category,
    )
    return section, below


def _is_timeout(at: _Visit) -> bool:
    """Return whether it is a wait of the loop itself that mostly ended by its timeout."""
    is_loops = at.parent is not None and at.parent.parent is None
    woken = sum(wakes.count for wakes in at.node.wakers.values())
    return is_loops and at.node.wait and at.node.name in TIMED_WAITS and woken <= WOKEN_SHARE * at.node.count


def _visits(
    section: SectionView,
    at: _Visit,
    below: Mapping[str, float],
    categorize: Categorize,
    loops: Mapping[str, Loop],
) -> Iterator[_Visit]:
    """Yield the visits to the children of a section.

    Calls that have not ended, and what is left out of order, may make the parts more than the whole: they are made to
    fit, so that the tick sums.
    """
    view, node, covered_ns = section.view, section.node, sum(below.values())
    took_ns = view.tick_ns * view.ticks if section.parent is None else _took_ns(view, node)
    fitted = min(1.0, took_ns / covered_ns) if covered_ns > 0 else 1.0
    is_body = took_ns >= TELLING_SHARE * view.tick_ns * view.ticks
    may_pace = at.may_pace and (is_body or is_pacing(node.name) or is_sleep(node.name))
    for name in below:
        child, path = node.children[name], paths.child(at.path, name)
        share = counts(child)
        yield _Visit(
            path=path,
            node=child,
            parent=section,
            on_path=at.on_path * share * fitted,
            concurrent=1 - (1 - at.concurrent) * share,
            may_pace=may_pace,
            is_remote=at.is_remote or _is_remote(child),
            within=within(child, at.within, categorize, is_loop=path in loops),
        )


def _within(profile: Profile, path: str, categorize: Categorize) -> Within:
    """Return what the node at `path` is in; the root is in nothing."""
    node, at, found = profile.root, paths.ROOT, Within()
    for name in paths.split(path):
        node, at = node.children[name], paths.child(at, name)
        found = within(node, found, categorize, is_loop=at in profile.loops)
    return found


def _is_remote(node: Node) -> bool:
    # What a server did while it was waited for is a part of the wait, and of it more counts than not.
    return node.clock != HOST and 2 * node.concurrent_ns > node.total_ns


def _took_ns(view: LoopView, node: Node) -> float:
    """Return how long all calls of `node` in the ticks took; of the run, all of its time."""
    return max(0, node.total_ns) if view.is_run else view.stats_of(node).sum_ns


def _recorder_ns(view: LoopView, node: Node, whole: bool) -> float:
    """Return what ticktree itself cost in the calls of `node` that are in ticks; `whole`: and below it."""
    nodes = (each for _, _, each in node.walk()) if whole else (node,)
    return sum(
        each.recorder_ns * (view.stats_of(each).count / each.count if each.count else 1.0) for each in nodes
    )
