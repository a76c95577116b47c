"""Choose the loop to measure and the sections to try, and detect programs that need no experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.loop_views import loop_views
from ticktree.analysis.loops import LoopView, outermost
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST

# How many sections to try on the critical path, and how many off it.
ON_PATH, OFF_PATH = 5, 5
# Threads that work for a smaller share of the loop's time, and shorter waits, do not count as concurrent work.
ALONE_SHARE = 0.02
# A loop that sleeps for a larger share of its tick may do so to hold a rate: then a faster section cannot shorten its
# ticks.
SLACK_SHARE = 0.05
# Predictions for programs whose threads queued for a lock were up to 9 points off (benchmarks/whatif.py, convoy).
LOCK_SHARE = 0.05


class NoExperimentError(TicktreeError):
    """No experiment with this program can answer the question; the message says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The loop to measure and the sections to try.

    Attributes:
        loop: path of the loop whose ticks are measured.
        tick_ns: the loop's mean tick.
        sections: paths of the sections.
        shares: the share of the tick that each section takes on its thread; for a sequential program, on the loop's.
        is_sequential: whether nothing runs concurrently with the loop: then Amdahl's law is exact.
    """

    loop: str
    tick_ns: float
    sections: Sequence[str]
    shares: dict[str, float]
    is_sequential: bool


def choose(
    profile: Profile, sections: Sequence[str] = (), loop: str | None = None, paced: bool = False
) -> Choice | None:
    """Return the loop and the sections to try; None if too little is recorded so far.

    Args:
        profile: the profile of the program so far.
        sections: Sections by path or unique name; empty for those with the most self time.
        loop: the loop, by path or name; None for the main loop.
        paced: whether loops with a target rate may be delayed.

    Raises:
        NoExperimentError: A section or the loop is ambiguous, or experiments do not work with this program.
    """
    views = loop_views(profile, lambda _: None)
    view = _find_loop(views, loop)
    if view is None:
        return None
    _require_possible(profile, views, view, paced)
    self_ns = _self_ns(profile)
    resolved = [_find_section(profile, name, view.path) for name in sections]
    selected = [path for path in resolved if path] if sections else _largest_sections(profile, view, self_ns)
    if len(selected) < len(sections):
        return None
    if view.path in selected:
        raise NoExperimentError(f"{view.path} is the loop that is measured: name a section of it")
    # All ticks, warm-up included, because the self times are those of the whole run.
    loop_ns = profile.root.at(view.path).total_ns
    shares = {path: _subtree_ns(self_ns, path) / loop_ns for path in selected} if loop_ns else {}
    is_sequential = _is_sequential(profile, view)
    if is_sequential:  # sections that run before or after the loop take no part of its ticks
        steady = {section.path: section.share for section in view.sections}
        shares = {
            path: steady.get(path, share) if paths.is_descendant(path, view.path) else 0.0
            for path, share in shares.items()
        }
        selected = [path for path in selected if sections or shares.get(path)]
    return Choice(view.path, view.tick_ns, selected, shares, is_sequential)


def contended(profile: Profile, loop: str) -> str:
    """Return a warning if the loop waits long for a lock, whose order of holders depends on their durations."""
    total_ns = profile.root.at(loop).total_ns
    waited_ns = sum(
        wakes.waited_ns
        for _, _, node in profile.root.at(loop).walk()
        for waker, wakes in node.wakers.items()
        if waker.channel == "lock"
    )
    if waited_ns <= LOCK_SHARE * total_ns:
        return ""
    return (
        f"{loop} waits for a lock for {100 * waited_ns / total_ns:.0f}% of its time: the order in which threads "
        "get it depends on how long they hold it, and so does the gain"
    )


def deadline(
    profile: Profile, section_names: Sequence[str] = (), loop: str | None = None
) -> tuple[LoopView, list[str]] | None:
    """Return a loop with a target rate, and the sections whose effect on its missed ticks can be counted.

    None if there is no such loop or section; `profile` is that of the run, the other arguments are as in `choose`.
    """
    views = [view for view in loop_views(profile, lambda _: None) if view.loop and view.loop.budget_ns]
    view = _find_loop(views, loop)
    if view is None:
        return None
    inside = {section.path for section in view.path_sections if not section.is_wait}
    names = section_names or [
        path for path in _largest_sections(profile, view, _self_ns(profile)) if path in inside
    ]
    resolved = [_find_section(profile, name, view.path) for name in names]
    sections = [path for path in resolved if path is not None and path in inside]
    return (view, sections) if sections else None


def _find_loop(views: Sequence[LoopView], name: str | None) -> LoopView | None:
    loops = [view for view in views if view.loop is not None]
    if name is None:
        return loops[0] if loops else None
    matches = [view for view in loops if name in (view.path, paths.split(view.path)[-1])]
    if len(matches) > 1:
        raise NoExperimentError(
            f"{name} is the name of {len(matches)} loops: {', '.join(sorted(view.path for view in matches))}"
        )
    return matches[0] if matches else None


def _find_section(profile: Profile, name: str, loop: str) -> str | None:
    """Return the path of a section, or of the only one with its name in the loop; nested ones count as one section."""
    nodes = {path: node for path, _, node in profile.root.walk() if path}
    if name in nodes:
        return name
    matches = [path for path, node in nodes.items() if node.name == name]
    outer = outermost(matches)
    inside = [path for path in outer if paths.is_descendant(path, loop)]
    candidates = inside if len(inside) == 1 else outer
    if len(candidates) > 1:
        raise NoExperimentError(
            f"{name} is the name of {len(candidates)} sections: name one by its path: {', '.join(sorted(candidates))}"
        )
    return candidates[0] if candidates else None


def _require_possible(profile: Profile, views: Sequence[LoopView], view: LoopView, paced: bool) -> None:
    rated_paths = [other.path for other in views if other.loop is not None and other.loop.hz]
    if rated_paths and not paced:
        raise NoExperimentError(
            f"the loop {rated_paths[0]} has a rate to hold, and delays may reach the device that it drives: give "
            "--yes if no device can come to harm"
        )
    if view.loop and view.loop.hz and not view.misses:
        raise NoExperimentError(
            f"the loop {view.path} holds its rate: a faster section gives it headroom, which `ticktree report` shows, "
            "and no higher rate"
        )
    for path, _, node in profile.root.walk():
        if node.clock != HOST:
            raise NoExperimentError(
                f"{path} runs on a device or in another program, which experiments cannot delay"
            )


def _self_ns(profile: Profile) -> dict[str, float]:
    """Return each section's self time on all threads, plus the waits in it that no thread of the run ended."""
    self_ns: dict[str, float] = {}
    for path, _, node in profile.root.walk():
        if path and not node.wait:
            waits_ns = sum(
                child.total_ns for child in node.children.values() if child.wait and not child.wakers
            )
            self_ns[path] = node.self_ns + waits_ns
    return self_ns


def _subtree_ns(self_ns: dict[str, float], path: str) -> float:
    """Return the time of a section and its descendants."""
    return sum(ns for other, ns in self_ns.items() if other == path or paths.is_descendant(other, path))


def _largest_sections(profile: Profile, view: LoopView, self_ns: dict[str, float]) -> list[str]:
    on_path = {section.path for section in view.path_sections}
    on_path |= {place.path for place, ns in profile.critical.items() if ns > 0}
    min_ns = max(1, ALONE_SHARE * view.tick_ns * view.ticks)
    large = sorted(
        (path for path, ns in self_ns.items() if path != view.path and ns >= min_ns),
        key=lambda path: -self_ns[path],
    )
    off_path = [path for path in large if path not in on_path]
    return [path for path in large if path in on_path][:ON_PATH] + off_path[:OFF_PATH]


def _is_sequential(profile: Profile, view: LoopView) -> bool:
    """Return whether no other thread works, and the loop neither waits for one nor sleeps to hold a rate."""
    if view.slack_ns > SLACK_SHARE * view.tick_ns:
        return False
    own_threads = {thread for thread, share in profile.root.at(view.path).by_thread.items() if share.count}
    concurrent_ns = sum(
        share.self_ns
        for path, _, node in profile.root.walk()
        for thread, share in node.by_thread.items()
        if path and not node.wait and thread not in own_threads
    )
    waits_ns = view.ticks * sum(
        section.self_ns for section in view.sections if section.node.wait and section.name != "time.sleep"
    )
    min_ns = ALONE_SHARE * view.tick_ns * view.ticks
    return len(own_threads) == 1 and max(concurrent_ns, waits_ns) < min_ns
