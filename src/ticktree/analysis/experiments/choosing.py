"""Choose the loop to measure and the sections to try, and detect programs that need no experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.loop_views import loop_views
from ticktree.analysis.loops import LoopView
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST

# How many sections to try on the critical path, and how many off it.
ON_PATH, OFF_PATH = 5, 5
# Threads that work for a smaller part of the loop's time, and shorter waits, do not count as concurrent work.
ALONE_SHARE = 0.02
# A loop that sleeps for more of its tick may do so to hold a rate: then no faster section makes its ticks shorter.
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
        shares: the part of the tick that each section takes on its thread; for a sequential program, on the loop's.
        is_sequential: whether nothing runs concurrently with the loop: then Amdahl's law is exact.
    """

    loop: str
    tick_ns: float
    sections: Sequence[str]
    shares: dict[str, float]
    is_sequential: bool


def choose(
    profile: Profile, wanted: Sequence[str] = (), loop: str | None = None, paced: bool = False
) -> Choice | None:
    """Return the loop and the sections to try; None if too little is recorded so far.

    Args:
        profile: the profile of the program so far.
        wanted: sections by path or unique name; empty for those with the most self time.
        loop: the loop, by path or name; None for the main loop.
        paced: whether loops with a target rate may be delayed.

    Raises:
        NoExperimentError: A section or the loop is ambiguous, or experiments do not work with this program.
    """
    views = loop_views(profile, lambda _: None)
    view = _loop(views, loop)
    if view is None:
        return None
    _check(profile, views, view, paced)
    self_ns = _self_ns(profile)
    named = [_section(profile, name, view.path) for name in wanted]
    chosen = [path for path in named if path] if wanted else _largest(profile, view, self_ns)
    if len(chosen) < len(wanted):
        return None
    if view.path in chosen:
        raise NoExperimentError(f"{view.path} is the loop that is measured: name a section of it")
    # All ticks, warm-up included, because the self times are those of the whole run.
    loop_ns = profile.root.at(view.path).total_ns
    shares = {path: _total(self_ns, path) / loop_ns for path in chosen} if loop_ns else {}
    is_sequential = _is_sequential(profile, view)
    if is_sequential:  # sections that run before or after the loop take no part of its ticks
        steady = {section.path: section.share for section in view.sections}
        shares = {
            path: steady.get(path, share) if paths.is_below(path, view.path) else 0.0
            for path, share in shares.items()
        }
        chosen = [path for path in chosen if wanted or shares.get(path)]
    return Choice(view.path, view.tick_ns, chosen, shares, is_sequential)


def contended(profile: Profile, loop: str) -> str:
    """Return a warning if the loop waits long for a lock: the order of its holders changes with their durations."""
    top = profile.root.at(loop)
    waited_ns = sum(
        wakes.waited_ns
        for _, _, node in top.walk()
        for waker, wakes in node.wakers.items()
        if waker.channel == "lock"
    )
    if waited_ns <= LOCK_SHARE * top.total_ns:
        return ""
    return (
        f"{loop} waits for a lock for {100 * waited_ns / top.total_ns:.0f}% of its time: the order in which threads "
        "get it depends on how long they hold it, and so does the gain"
    )


def deadline(
    profile: Profile, wanted: Sequence[str] = (), loop: str | None = None
) -> tuple[LoopView, list[str]] | None:
    """Return a loop with a target rate, and the sections whose part in its missed ticks can be counted.

    None if there is no such loop or section; `profile` is of the whole run, the rest as in `choose`.
    """
    views = [view for view in loop_views(profile, lambda _: None) if view.loop and view.loop.budget_ns]
    view = _loop(views, loop)
    if view is None:
        return None
    inside = {section.path for section in view.path_sections if not section.is_wait}
    names = wanted or [path for path in _largest(profile, view, _self_ns(profile)) if path in inside]
    found = [_section(profile, name, view.path) for name in names]
    sections = [path for path in found if path is not None and path in inside]
    return (view, sections) if sections else None


def _loop(views: Sequence[LoopView], wanted: str | None) -> LoopView | None:
    loops = [view for view in views if view.loop is not None]
    if wanted is None:
        return loops[0] if loops else None
    named = [view for view in loops if wanted in (view.path, paths.split(view.path)[-1])]
    if len(named) > 1:
        raise NoExperimentError(
            f"{wanted} is the name of {len(named)} loops: {', '.join(sorted(view.path for view in named))}"
        )
    return named[0] if named else None


def _section(profile: Profile, name: str, loop: str) -> str | None:
    """Return the path of a section; of several with its name the only one in the loop, those in each other as one."""
    nodes = {path: node for path, _, node in profile.root.walk() if path}
    if name in nodes:
        return name
    every = [path for path, node in nodes.items() if node.name == name]
    outer = [path for path in every if not any(paths.is_below(path, other) for other in every)]
    inside = [path for path in outer if paths.is_below(path, loop)]
    named = inside if len(inside) == 1 else outer
    if len(named) > 1:
        raise NoExperimentError(
            f"{name} is the name of {len(named)} sections: name one by its path: {', '.join(sorted(named))}"
        )
    return named[0] if named else None


def _check(profile: Profile, views: Sequence[LoopView], view: LoopView, paced: bool) -> None:
    rated = [other.path for other in views if other.loop is not None and other.loop.hz]
    if rated and not paced:
        raise NoExperimentError(
            f"the loop {rated[0]} has a rate to hold, and delays may reach the device that it drives: give --yes if "
            "no device can come to harm"
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
            outside = sum(
                child.total_ns for child in node.children.values() if child.wait and not child.wakers
            )
            self_ns[path] = node.self_ns + outside
    return self_ns


def _total(self_ns: dict[str, float], path: str) -> float:
    """Return the time of a section and of all sections below it."""
    return sum(ns for other, ns in self_ns.items() if other == path or paths.is_below(other, path))


def _largest(profile: Profile, view: LoopView, self_ns: dict[str, float]) -> list[str]:
    on_path = {section.path for section in view.path_sections}
    on_path |= {place.path for place, ns in profile.critical.items() if ns > 0}
    least_ns = max(1, ALONE_SHARE * view.tick_ns * view.ticks)
    large = sorted(
        (path for path, ns in self_ns.items() if path != view.path and ns >= least_ns),
        key=lambda path: -self_ns[path],
    )
    on = [path for path in large if path in on_path][:ON_PATH]
    return [*on, *[path for path in large if path not in on_path][:OFF_PATH]]


def _is_sequential(profile: Profile, view: LoopView) -> bool:
    """Return whether no other thread works, and the loop neither waits for one nor sleeps to hold a rate."""
    if view.slack_ns > SLACK_SHARE * view.tick_ns:
        return False
    own_writers = {writer for writer, share in profile.root.at(view.path).by_writer.items() if share.count}
    concurrent_ns = sum(
        share.self_ns
        for path, _, node in profile.root.walk()
        for writer, share in node.by_writer.items()
        if path and not node.wait and writer not in own_writers
    )
    waits_ns = view.ticks * sum(
        section.self_ns for section in view.sections if section.node.wait and section.name != "time.sleep"
    )
    least_ns = ALONE_SHARE * view.tick_ns * view.ticks
    return len(own_writers) == 1 and max(concurrent_ns, waits_ns) < least_ns
