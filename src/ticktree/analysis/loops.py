"""The loop model: what a loop's mean tick consists of, and what the loop gains if a part of it takes no time.

Rules, tables, pages and charts use this model and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ticktree.profile import Loop, Node, Stats, Waker, Wakes
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, rates
from ticktree.profile.short_names import ShortNames
from ticktree.profile.table import sums_of

NS_PER_SECOND = 1_000_000_000
# The loop does not wait for a section that has less time on the loop's path than concurrent time.
CONCURRENT_SHARE = 0.5
# On a busy machine, any loop misses one tick in a thousand. Our own choice.
MISSES_SHARE = 0.001
# A loop whose ticks take as long as its rate allows, within 1%, holds its rate on purpose. Our own choice.
HELD_SHARE = 0.01
HELD_TYPICAL_SHARE = 0.03
# A sleep ends a little late: on a busy machine by 0.1 to 0.2 ms. Our own choice.
LAG_SHARE = 0.05
# A loop that is paced by an unrecorded wait has at least this share of self time: otherwise its sections would be busy
# for the whole tick.
UNSEEN_SHARE = 0.1
# A report leads with loops without missed ticks if they were busy for this share of the busiest loop's time; two fill
# a screen.
MAIN_SHARE = 0.3
MAIN_LOOPS = 2

# Where a child has this share of its parent's time, the child is the more precise answer. Our own choice.
PRECISE_SHARE = 0.8
# A section that is called this often outside all loops is treated as a loop. With ten calls, the first ones, which
# import, allocate and compile, no longer dominate the mean.
MIN_TICKS = 10

# A part dominates if it is half of all work. In a driver's loop of 130 ms, measured section by section by its authors,
# the wait for the simulator's answer took 87 ms, two thirds.
DOMINATES_SHARE = 0.5

# The difference of two large numbers may be only a rounding error, up to this share of them.
_ROUNDING = 1e-9

Categorize = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Saving:
    """What a loop, or a run without loops, gains at most if a part of its tick takes no time.

    Amdahl, Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967: a
    tick of T without its part x takes T - x. A loop that sleeps to hold its rate gains no rate: it sleeps longer.

    Attributes:
        tick_ns: the mean tick, or the length of the run.
        needed_ns: the tick without the sleep that holds the rate.
        removed_ns: the part of `needed_ns` that would take no time.
        held_ns: the shortest tick that the loop's rate allows; 0 if it neither sleeps to hold one nor lags behind it.
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
        """How much shorter the mean tick, or the run, would be, as a share of it."""
        return self.ns / self.tick_ns if self.tick_ns > 0 else 0.0

    @property
    def headroom_ns(self) -> float:
        """How much longer each tick could sleep or work: the gain of a loop that holds its rate."""
        return self.removed_ns

    @property
    def limited_by_rate(self) -> bool:
        """Whether the loop would gain more if it did not hold a rate."""
        return self.ns < self.removed_ns * (1 - _ROUNDING)

    @property
    def free_ns(self) -> float:
        """What would be left of `needed_ns`."""
        return max(0.0, self.needed_ns - self.removed_ns)

    @property
    def hz(self) -> float | None:
        """Ticks per second that the loop can do; None if its ticks take no time."""
        return NS_PER_SECOND / self.needed_ns if self.needed_ns > 0 else None

    @property
    def free_hz(self) -> float | None:
        """Ticks per second without the part; None if nothing would be left of the tick."""
        return NS_PER_SECOND / self.free_ns if self._is_left else None

    @property
    def speedup(self) -> float | None:
        """How many times as fast the loop could be; None if nothing would be left of the tick."""
        return self.needed_ns / self.free_ns if self._is_left else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `report --format json` writes."""
        return {
            "ns": round(self.ns),
            "share": self.share,
            "headroom_ns": round(self.headroom_ns),
            "limited_by_rate": self.limited_by_rate,
        }

    @property
    def _is_left(self) -> bool:
        return self.free_ns > _ROUNDING * self.needed_ns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SectionView:
    """A node as a part of a loop's mean steady tick. Times are nanoseconds per tick, or of the whole run.

    Attributes:
        view: the loop, or the run.
        node: the node.
        path: of the node.
        parent: its parent; None for the first section, which is the loop, or the run.
        below: its children.
        self_ns: time of the loop in the section and in no child, less the cost of ticktree. The self times of all
            sections and the cost of ticktree sum to the tick.
        total_ns: time of the loop in the section or a descendant.
        concurrent_ns: self time that other threads, tasks or processes spent here while the loop did something else;
            includes what `record_duration` recorded.
        recorder_ns: cost of ticktree itself in the section.
        calls: calls in a steady tick, on average.
        is_wait: whether it waits rather than works, or is in a wait.
        is_slack: whether it is the sleep with which the loop holds its rate, in any code: time to spare.
        is_loop: whether it is a loop within this one: its descendants are sections of that loop, not of this one.
        is_remote: whether a device or another program ran it, or an ancestor of it, while this program continued.
        category: that of its name, else its parent's; "waiting" for a wait.
    """

    view: LoopView = field(repr=False)
    node: Node = field(repr=False)
    path: str
    parent: SectionView | None = field(repr=False)
    below: list[SectionView] = field(default_factory=list, repr=False)
    self_ns: float
    total_ns: float
    concurrent_ns: float
    recorder_ns: float
    calls: float
    is_wait: bool
    is_slack: bool
    is_loop: bool
    is_remote: bool
    category: str | None

    @property
    def name(self) -> str:
        """The section's name."""
        return self.node.name

    @property
    def share(self) -> float:
        """Its share of the tick, descendants included."""
        return self.view.share(self.total_ns)

    @property
    def is_parallel(self) -> bool:
        """Whether more of it runs concurrently with the loop than on the loop's path."""
        both_ns = self.self_ns + self.concurrent_ns
        return self.concurrent_ns > 0 and self.self_ns < CONCURRENT_SHARE * both_ns

    @property
    def has_sections(self) -> bool:
        """Whether a child is a part of its time: what a device or another program did concurrently is not."""
        children = self.node.children.values()
        return any(child.clock == HOST or child.concurrent_ns < child.total_ns for child in children)

    @property
    def is_in_wait(self) -> bool:
        """Whether an ancestor waits: the ancestor's time then contains its time."""
        ancestor = self.parent
        while ancestor is not None and not ancestor.node.wait:
            ancestor = ancestor.parent
        return ancestor is not None

    @property
    def stats(self) -> Stats:
        """Statistics of its steady calls, or of all calls for the run."""
        return self.view.stats_of(self.node)

    @property
    def count(self) -> int:
        """How many calls there were in all ticks."""
        return self.stats.count

    @property
    def call_ns(self) -> float:
        """The mean time of a call; 0 without calls."""
        return self.stats.mean_ns or 0

    @property
    def bytes_per_call(self) -> float | None:
        """The bytes that it declares per call; None if it declares none."""
        return self._per_call(self.node.work.bytes if self.node.work is not None else 0)

    @property
    def items_per_call(self) -> float | None:
        """The items that it declares per call; None if it declares none."""
        return self._per_call(self.node.work.items if self.node.work is not None else 0)

    def _per_call(self, amount: int) -> float | None:
        return amount / self.node.count if amount and self.node.count else None

    @property
    def bytes_per_s(self) -> float | None:
        """The rate of the bytes that it declares, warm-up included; None if it declares none."""
        return rates(self.node.work, self.node.total_ns).bytes_per_s

    @property
    def waited_ns(self) -> Mapping[str, int]:
        """The waiting time in the node and its descendants, warm-up included, by thread."""
        return self.view.waited_ns[self.path]

    @property
    def waited_share(self) -> float:
        """The share of its time spent waiting, on all threads."""
        total_ns = self.node.total_ns
        return min(1.0, sum(self.waited_ns.values()) / total_ns) if total_ns > 0 else 0.0

    def above(self) -> Iterator[SectionView]:
        """Yield its ancestors, the innermost first, without the loop itself."""
        section = self.parent
        while section is not None and section.parent is not None:
            yield section
            section = section.parent

    def all_below(self) -> list[SectionView]:
        """Return its descendants."""
        sections = list(self.below)
        for section in sections:  # the list grows during the iteration
            sections.extend(section.below)
        return sections

    def wakers(self) -> list[tuple[Waker, Wakes]]:
        """Return what ended the waits in this section and in its descendants."""
        return [entry for section in (self, *self.all_below()) for entry in section.node.wakers.items()]


@dataclass(eq=False)
class LoopView:
    """A loop, a section that is called often, or the whole run as one tick.

    Attributes:
        loop: the loop; None for a section and for the run.
        path: that of the node; "" for the run.
        ticks: number of steady ticks, or calls; 1 for the run.
        tick_ns: the mean steady tick, or call; the length of the run.
        threads: number of threads that run the loop independently.
        on_main_thread: whether the main thread of the main process runs it.
        names: the nodes' short names.
        sections: its sections, parents before their children. The first is the loop itself.
    """

    loop: Loop | None
    path: str
    ticks: int
    tick_ns: float
    threads: int = 1
    on_main_thread: bool = True
    names: ShortNames = field(default_factory=ShortNames, repr=False)
    sections: list[SectionView] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """Its short name; "" for the run."""
        return self.names.of_path(self.path)

    @property
    def tick(self) -> str:
        """What one tick is called."""
        return f"tick of {self.name}" if self.loop is not None else self.name

    @property
    def is_run(self) -> bool:
        """Whether it is the run."""
        return self.path == paths.ROOT

    @property
    def misses(self) -> bool:
        """Whether the loop misses more than one tick in a thousand."""
        missed = self.loop.missed if self.loop is not None else 0
        return missed > MISSES_SHARE * self.ticks and not self.is_paced_unseen

    @property
    def lags(self) -> bool:
        """Whether its ticks usually take longer than its rate allows, whether with work, sleep or waits."""
        if self.loop is None or not self.loop.budget_ns or self.is_paced_unseen:
            return False
        return min(self.tick_ns, self.loop.stats.p50_ns or 0) >= (1 + LAG_SHARE) * self.loop.budget_ns

    @property
    def fails(self) -> bool:
        """Whether the loop misses ticks or does not reach its rate."""
        return self.misses or self.lags

    @property
    def is_paced_unseen(self) -> bool:
        """Whether something other than a recorded sleep holds its rate, such as spinning until a tick is due.

        Each of its ticks takes about as long as its rate allows: those that take a little longer are not late.
        """
        if self.loop is None or not self.loop.budget_ns or self.slack_ns:
            return False
        if not self.sections or self.share(self.sections[0].self_ns) < UNSEEN_SHARE:
            return False
        p50_ns, budget_ns = self.loop.stats.p50_ns or 0, self.loop.budget_ns
        return (
            abs(self.tick_ns - budget_ns) <= HELD_SHARE * budget_ns
            and abs(p50_ns - budget_ns) <= HELD_TYPICAL_SHARE * budget_ns
        )

    @cached_property
    def slack_ns(self) -> float:
        """The part of the tick that the loop slept to hold its rate."""
        return sum(section.self_ns for section in self.sections if section.is_slack)

    @cached_property
    def busy_ns(self) -> float:
        """The tick less all waits and sleeps on the loop's path."""
        return self.tick_ns - sum(section.self_ns for section in self.sections if section.is_wait)

    @property
    def all_busy_ns(self) -> float:
        """The busy time of all ticks of one of its threads."""
        return self.busy_ns * self.ticks / self.threads

    @cached_property
    def recorder_ns(self) -> float:
        """The cost of ticktree itself per tick."""
        return sum(section.recorder_ns for section in self.sections)

    @property
    def needed_ns(self) -> float:
        """The tick without the sleep that holds the rate."""
        return self.tick_ns - self.slack_ns

    @property
    def path_sections(self) -> Iterator[SectionView]:
        """Its sections on the loop's path, parents before their children, without the loop itself."""
        return (section for section in self.sections[1:] if not section.is_parallel and not section.is_remote)

    @cached_property
    def waited_ns(self) -> Mapping[str, Mapping[str, int]]:
        """The waiting time in each section and below, by path and by thread; a wait inside a wait does not count."""
        waited: dict[str, Mapping[str, int]] = {}
        for section in reversed(self.sections):  # children before their parents
            node = section.node
            if node.wait:
                waited[section.path] = {thread: share.total_ns for thread, share in node.by_thread.items()}
            else:
                waited[section.path] = sums_of(waited[below.path] for below in section.below)
        return waited

    def share(self, ns: float) -> float:
        """Return `ns` as a share of the tick; at most 1."""
        return min(1.0, ns / self.tick_ns) if self.tick_ns > 0 else 0.0

    def needed_share(self, ns: float) -> float:
        """Return `ns` as a share of the tick without the sleep that holds the rate; at most 1."""
        return min(1.0, ns / self.needed_ns) if self.needed_ns > 0 else 0.0

    def stats_of(self, node: Node) -> Stats:
        """Return the statistics of the node's calls in steady ticks; for the run, of all its calls."""
        if self.loop is not None:
            return self.loop.calls_of(node)
        return node.stats if self.is_run else node.steady

    def saving(self, ns: float) -> Saving:
        """Return what the loop gains at most if `ns` of its mean tick took no time."""
        removed_ns = min(max(0.0, ns), self.needed_ns)
        return Saving(self.tick_ns, self.needed_ns, removed_ns, self._held_ns)

    @property
    def _held_ns(self) -> float:
        budget_ns = self.loop.budget_ns if self.loop else None
        if not self.slack_ns:  # a loop that lags has no time to sleep, but would sleep once it had
            return float(budget_ns or 0) if self.lags else 0.0
        # A loop that sleeps and declares no rate holds its present rate.
        return self.tick_ns if budget_ns is None else budget_ns

    def name_of(self, section: SectionView) -> str:
        """Return the short names that lead from the loop to `section`, for display; for the loop itself, its name."""
        names = paths.split(section.path)
        return self.names.joined(names[len(paths.split(self.path)) :]) or self.names.joined(names[-1:])


def outermost(all_paths: Collection[str]) -> list[str]:
    """Return the paths that are below no other of them, in their order."""
    return [path for path in all_paths if not any(paths.is_descendant(path, other) for other in all_paths)]


def main_loops(views: Sequence[LoopView]) -> list[LoopView]:
    """Return the loops that a report leads with: all that fail, or else at most two of the busiest.

    If a loop fills the loop around it, only the inner loop is returned.
    """
    failing = [view for view in views if view.fails]
    min_busy_ns = MAIN_SHARE * max((view.all_busy_ns for view in views), default=0.0)
    busy = [
        view for view in views if not view.fails and view.all_busy_ns >= min_busy_ns and not _is_filled(view)
    ]
    return failing + busy[: max(0, MAIN_LOOPS - len(failing))]


def _is_filled(view: LoopView) -> bool:
    return any(
        section.is_loop and section.self_ns >= PRECISE_SHARE * view.tick_ns for section in view.sections
    )
