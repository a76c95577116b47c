"""Which loop to measure and which sections to try, and where no experiment is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ticktree.analysis.loop_views import loop_views
from ticktree.analysis.loops import LoopView
from ticktree.errors import TicktreeError
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST

# Of the sections that set the loop's length, and of those that do not.
ON_PATH, OFF_PATH = 5, 5
# Threads that work for less than this part of the loop's time, and waits of less, are nothing that runs concurrently.
ALONE_SHARE = 0.02
# A loop that sleeps for so much of its tick may do so to hold a rate: then it gains nothing whatever becomes faster.
SLACK_SHARE = 0.05
# Of programs whose threads queued for a lock, predictions were up to 9 points off (benchmarks/whatif.py, convoy).
LOCK_SHARE = 0.05


class NoExperimentError(TicktreeError):
    """No experiment with this program can answer the question; it says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to try.

    Attributes:
        loop: path of the loop whose ticks are measured.
        tick_ns: its mean tick.
        sections: paths of the sections.
        shares: what part of the tick each takes on its thread; where nothing runs concurrently, of the loop's.
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
    """Return what to try; None where too little is recorded yet.

    Args:
        profile: of the program so far.
        wanted: sections by path, or by a name that only one has; none for those with the most self time.
        loop: the loop, by path or name; None for the one that a report leads with.
        paced: whether loops with a rate may be delayed.

    Raises:
        NoExperimentError: A section or the loop is ambiguous, or this program is none for experiments.
    """
    views = loop_views(profile, lambda _: None)
    view = _loop(views, loop)
    if view is None:
        return None
    _check(profile, views, view, paced)
    own = _self_ns(profile)
    sections = [_section(profile, word) for word in wanted] if wanted else _largest(profile, view, own)
    if not all(sections):
        return None
    found = [section for section in sections if section]
    if view.path in found:
        raise NoExperimentError(f"{view.path} is the loop that is measured: name a section of it")
    # Of all ticks, those of the warm-up included: self times are of the whole run, too.
    loop_ns = profile.root.at(view.path).total_ns
    shares = {path: _total(own, path) / loop_ns for path in found} if loop_ns else {}
    is_sequential = _is_sequential(profile, view)
    if is_sequential:  # what runs before or after the loop takes nothing of its ticks
        steady = {section.path: section.share for section in view.sections}
        shares = {
            path: steady.get(path, share) if paths.is_below(path, view.path) else 0.0
            for path, share in shares.items()
        }
        found = [path for path in found if wanted or shares.get(path)]
    return Choice(view.path, view.tick_ns, found, shares, is_sequential)


def contended(profile: Profile, loop: str) -> str:
    """Return a sentence where the loop waits much for a lock: who gets it next changes with the lengths.

    Args:
        profile: of the whole run.
        loop: path of the loop.
    """
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
        f"{loop} waits for a lock for {100 * waited_ns / top.total_ns:.0f}% of its time: in which order threads get "
        "it changes with how long they hold it, and with that the gain"
    )


def deadline(
    profile: Profile, wanted: Sequence[str] = (), loop: str | None = None
) -> tuple[LoopView, list[str]] | None:
    """Return a loop that has a rate, and the sections whose share in its missed ticks can be counted.

    Args:
        profile: of the whole run.
        wanted: sections by path, or by a name that only one has; none for those with the most self time.
        loop: the loop, by path or name; None for the first that has a rate.

    Returns:
        None where there is no such loop or section.
    """
    views = [view for view in loop_views(profile, lambda _: None) if view.loop and view.loop.budget_ns]
    view = _loop(views, loop)
    if view is None:
        return None
    inside = {section.path for section in view.path_sections if not section.is_wait}
    words = wanted or [path for path in _largest(profile, view, _self_ns(profile)) if path in inside]
    sections = [path for path in (_section(profile, word) for word in words if word) if path in inside]
    return (view, [path for path in sections if path]) if sections else None


def _loop(views: Sequence[LoopView], wanted: str | None) -> LoopView | None:
    loops = [view for view in views if view.loop is not None]
    if wanted is None:
        return loops[0] if loops else None
    found = [view for view in loops if wanted in (view.path, paths.split(view.path)[-1])]
    if len(found) > 1:
        raise NoExperimentError(
            f"{wanted} is the name of {len(found)} loops: {_listed(view.path for view in found)}"
        )
    return found[0] if found else None


def _section(profile: Profile, word: str) -> str | None:
    known = {path: node for path, _, node in profile.root.walk() if path}
    if word in known:
        return word
    found = [path for path, node in known.items() if node.name == word]
    if len(found) > 1:
        raise NoExperimentError(
            f"{word} is the name of {len(found)} sections: name one by its path: {_listed(found)}"
        )
    return found[0] if found else None


def _listed(found: Iterable[str]) -> str:
    return ", ".join(sorted(found))


def _check(profile: Profile, views: Sequence[LoopView], view: LoopView, paced: bool) -> None:
    rated = [each.path for each in views if each.loop is not None and each.loop.hz]
    if rated and not paced:
        raise NoExperimentError(
            f"the loop {rated[0]} has a rate to hold, and delays may reach the device that it drives: give --yes if "
            "nothing can come to harm"
        )
    if view.loop and view.loop.hz and not view.misses:
        raise NoExperimentError(
            f"the loop {view.path} holds its rate: what becomes faster gives it headroom and no rate, which "
            "`ticktree report` shows"
        )
    for path, _, node in profile.root.walk():
        if node.clock != HOST:
            raise NoExperimentError(
                f"a device or another program works at {path}: its work cannot be delayed, so that nothing can be told"
            )


def _self_ns(profile: Profile) -> dict[str, float]:
    """What each section took itself, on all threads: its self time, and its waits that no thread of the run ended."""
    own: dict[str, float] = {}
    for path, _, node in profile.root.walk():
        if path and not node.wait:
            outside = sum(
                child.total_ns for child in node.children.values() if child.wait and not child.wakers
            )
            own[path] = node.self_ns + outside
    return own


def _total(own: dict[str, float], path: str) -> float:
    """Of a section, all that is below it too."""
    return sum(ns for each, ns in own.items() if each == path or each.startswith(path + "/"))


def _largest(profile: Profile, view: LoopView, own: dict[str, float]) -> list[str | None]:
    on_path = {section.path for section in view.path_sections} | {
        place.path for place in profile.critical if profile.critical[place] > 0
    }
    ordered = sorted(
        (path for path in own if path != view.path and own[path] > 0), key=lambda path: -own[path]
    )
    least_ns = ALONE_SHARE * view.tick_ns * view.ticks
    worth = [path for path in ordered if own[path] >= least_ns]
    on = [path for path in worth if path in on_path][:ON_PATH]
    return [*on, *[path for path in worth if path not in on_path][:OFF_PATH]]


def _is_sequential(profile: Profile, view: LoopView) -> bool:
    """Whether no other thread of the run works, and the loop waits for none, nor sleeps to hold a rate."""
    whole_ns = view.tick_ns * view.ticks
    if view.slack_ns > SLACK_SHARE * view.tick_ns:
        return False
    ours = {writer for writer, share in profile.root.at(view.path).by_writer.items() if share.count}
    beside_ns = waits_ns = 0.0
    for node in _nodes(profile):
        for writer, share in node.by_writer.items():
            if not node.wait and writer not in ours:
                beside_ns += share.self_ns
    for section in view.sections:
        if section.node.wait and section.name != "time.sleep":
            waits_ns += section.self_ns * view.ticks
    return len(ours) == 1 and beside_ns < ALONE_SHARE * whole_ns and waits_ns < ALONE_SHARE * whole_ns


def _nodes(profile: Profile) -> Iterable[Node]:
    return (node for path, _, node in profile.root.walk() if path)
