"""Loop views: the mean ticks of a profile's loops, of its sections that are called often, and of the whole run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticktree.analysis.categories import Traits, is_pacing, is_sleep, traits_of
from ticktree.analysis.loops import (
    CONCURRENT_SHARE,
    MIN_TICKS,
    PRECISE_SHARE,
    Categorize,
    LoopView,
    SectionView,
)
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST
from ticktree.profile.short_names import ShortNames

# The names that instruments give to waits with a timeout. Up to one in ten may end otherwise, such as the loop's last.
TIMED_WAITS = frozenset({"Event.wait", "Condition.wait", "select.select", "executor wait"})
WOKEN_SHARE = 0.1
# Loops whose busy times differ by less count as equally busy, so that their order does not change from run to run.
ALIKE_SHARE = 0.75


def run_view(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> LoopView:
    """Return the whole run as one tick, with every node of the tree, including those of its loops."""
    return _view(None, paths.ROOT, profile, categorize, names or ShortNames(profile.root))


def repeated_sections(run: LoopView, profile: Profile, categorize: Categorize) -> list[LoopView]:
    """Return, as loops, the sections with ten or more calls that are outside all loops and outside one another."""
    views = []
    inside_paths: set[str] = set()  # of loops and of `views`
    for section in run.sections[1:]:  # parents before their children
        if section.is_remote:
            continue
        is_on_path = path_share(section.node) >= CONCURRENT_SHARE
        is_inside = is_on_path and section.parent is not None and section.parent.path in inside_paths
        if not is_inside and not section.is_loop and section.node.steady.count >= MIN_TICKS:
            views.append(_view(None, section.path, profile, categorize, run.names))
            is_inside = True
        if is_inside or section.is_loop:
            inside_paths.add(section.path)
    return views


def loop_views(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> list[LoopView]:
    """Return the loops that have steady ticks, in the order in which all outputs show them.

    Loops that miss ticks or do not reach their rate come first, then those of the main process's main thread, then the
    busiest.
    """
    names = names or ShortNames(profile.root)
    steady = {
        path: loop for path, loop in profile.loops.items() if loop.stats.count and loop.stats.sum_ns > 0
    }
    return _sort_loops([_view(loop, path, profile, categorize, names) for path, loop in steady.items()])


def _sort_loops(views: Sequence[LoopView]) -> list[LoopView]:
    """Return the loops in order: the busiest first, and equally busy ones by path."""
    ranks: dict[str, int] = {}
    rank, busiest_ns = 0, 0.0
    for view in sorted(views, key=lambda view: -view.all_busy_ns):
        if view.all_busy_ns < ALIKE_SHARE * busiest_ns or not ranks:
            rank, busiest_ns = rank + 1, view.all_busy_ns
        ranks[view.path] = rank
    return sorted(
        views, key=lambda view: (not view.fails, not view.on_main_thread, ranks[view.path], view.path)
    )


def path_share(node: Node) -> float:
    """Return the share of a node's time that counts as its parent's time: the rest ran concurrently."""
    if node.total_ns <= 0:
        return 0.0
    return min(1.0, max(0.0, (node.total_ns - node.concurrent_ns) / node.total_ns))


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node on the walk through a tick: the share of its time on the loop's path, and the concurrent share."""

    path: str
    node: Node
    parent: SectionView | None
    path_share: float
    concurrent_share: float
    may_pace: bool
    is_remote: bool
    traits: Traits


def _view(
    loop: Loop | None, path: str, profile: Profile, categorize: Categorize, names: ShortNames
) -> LoopView:
    node = profile.root.at(path)
    threads = [thread for thread, share in node.by_thread.items() if share.count]
    is_main = not profile.threads or not loop or any(thread in _main_threads(profile) for thread in threads)
    steady = node.steady if loop is None else loop.stats
    ticks, total_ns = (steady.count, steady.sum_ns) if path or loop is not None else (1, node.total_ns)
    view = LoopView(loop, path, ticks, max(0, total_ns) / ticks, max(1, len(threads)), is_main, names)
    traits = _path_traits(profile, path, categorize)
    pending = [_Visit(path, node, None, 1.0, 0.0, loop is not None, _is_remote(node), traits)]
    while pending:
        visit = pending.pop()
        section, children_ns = _section(view, visit, profile.loops)
        view.sections.append(section)
        if visit.parent is not None:
            visit.parent.below.append(section)
        pending.extend(reversed(list(_visits(section, visit, children_ns, categorize, profile.loops))))
    return view


def _main_threads(profile: Profile) -> set[str]:
    """Return, for each run, the id of the main thread of the process that started first."""
    earliest: dict[str, tuple[float, str]] = {}
    for thread in profile.threads.values():
        if thread.is_main:
            started_ns = float("inf") if thread.started_ns is None else thread.started_ns
            earliest[thread.run] = min(
                earliest.get(thread.run, (started_ns, thread.id)), (started_ns, thread.id)
            )
    return {thread for _, thread in earliest.values()}


def _section(
    view: LoopView, visit: _Visit, loops: Mapping[str, Loop]
) -> tuple[SectionView, Mapping[str, float]]:
    """Return the section of a visit, and how long each of its children took on its path in all ticks."""
    node, is_first = visit.node, visit.parent is None
    total_ns = _visit_ns(view, visit)
    is_loop = not is_first and visit.path in loops
    children = {} if is_loop and not view.is_run else node.children
    children_ns = {name: _spent_ns(view, child) * path_share(child) for name, child in children.items()}
    self_ns = max(0.0, total_ns - sum(children_ns.values()))
    recorder_ns = min(self_ns, _recorder_ns(view, node, with_descendants=is_loop and not children_ns))
    is_pacing_sleep = visit.may_pace and not is_first and (is_sleep(node.name) or _is_timeout(visit))
    section = SectionView(
        view=view,
        node=node,
        path=visit.path,
        parent=visit.parent,
        self_ns=visit.path_share * (self_ns - recorder_ns) / view.ticks,
        total_ns=visit.path_share * total_ns / view.ticks,
        concurrent_ns=visit.concurrent_share * self_ns / view.ticks,
        recorder_ns=visit.path_share * recorder_ns / view.ticks,
        calls=view.stats_of(node).count / view.ticks,
        is_wait=(visit.parent is not None and visit.parent.is_wait) or node.wait or is_pacing_sleep,
        is_slack=is_pacing_sleep,
        is_loop=is_loop,
        is_remote=visit.is_remote,
        category=visit.traits.category,
    )
    return section, children_ns


def _is_timeout(visit: _Visit) -> bool:
    """Return whether it is a child of the loop, and a wait that mostly ended by its timeout."""
    is_child_of_loop = visit.parent is not None and visit.parent.parent is None
    node, woken = visit.node, sum(wakes.count for wakes in visit.node.wakers.values())
    return is_child_of_loop and node.wait and node.name in TIMED_WAITS and woken <= WOKEN_SHARE * node.count


def _visits(
    section: SectionView,
    visit: _Visit,
    children_ns: Mapping[str, float],
    categorize: Categorize,
    loops: Mapping[str, Loop],
) -> Iterator[_Visit]:
    """Yield the visits to the children of a section.

    Calls that have not ended, and sections left out of order, may make the children's sum exceed the parent: they are
    scaled to fit, so that the parts sum to the tick.
    """
    view, node, covered_ns = section.view, section.node, sum(children_ns.values())
    total_ns = _visit_ns(view, visit)
    scale = min(1.0, total_ns / covered_ns) if covered_ns > 0 else 1.0
    is_body = total_ns >= PRECISE_SHARE * view.tick_ns * view.ticks
    may_pace = visit.may_pace and (is_body or is_pacing(node.name) or is_sleep(node.name))
    for name in children_ns:
        child, path = node.children[name], paths.child(visit.path, name)
        share = path_share(child)
        yield _Visit(
            path=path,
            node=child,
            parent=section,
            path_share=visit.path_share * share * scale,
            concurrent_share=1 - (1 - visit.concurrent_share) * share,
            may_pace=may_pace,
            is_remote=visit.is_remote or _is_remote(child),
            traits=traits_of(child, visit.traits, categorize, is_loop=path in loops),
        )


def _path_traits(profile: Profile, path: str, categorize: Categorize) -> Traits:
    """Return the traits of the node at `path`; the root has none."""
    node, node_path, traits = profile.root, paths.ROOT, Traits()
    for name in paths.split(path):
        node, node_path = node.children[name], paths.child(node_path, name)
        traits = traits_of(node, traits, categorize, is_loop=node_path in profile.loops)
    return traits


def _is_remote(node: Node) -> bool:
    # A server's work during a wait for it is a part of the wait: then most of it is not concurrent.
    return node.clock != HOST and 2 * node.concurrent_ns > node.total_ns


def _visit_ns(view: LoopView, visit: _Visit) -> float:
    return view.tick_ns * view.ticks if visit.parent is None else _spent_ns(view, visit.node)


def _spent_ns(view: LoopView, node: Node) -> float:
    """Return how long all calls of `node` in the ticks took; for the run, its total time."""
    return max(0, node.total_ns) if view.is_run else view.stats_of(node).sum_ns


def _recorder_ns(view: LoopView, node: Node, with_descendants: bool) -> float:
    """Return the cost of ticktree itself in the calls of `node` in ticks, and in its descendants if requested."""
    nodes = (part for _, _, part in node.walk()) if with_descendants else (node,)
    return sum(
        part.recorder_ns * (view.stats_of(part).count / part.count if part.count else 1.0) for part in nodes
    )
