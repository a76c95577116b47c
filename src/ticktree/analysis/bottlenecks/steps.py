"""Steps: what a loop's tick consists of, or the run where there is no loop. Their times add up to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ticktree.analysis.categories import Within, within
from ticktree.analysis.places import TELLING_SHARE, counts
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.clock import HOST
from ticktree.profile.short_names import ShortNames

# A step of which less is on the loop's path than runs beside it is not what the loop waits for.
BESIDE_SHARE = 0.5

# Of loops side by side, those that went on for so much of the longest one's time matter; two fill a screen.
CHIEF_WEIGHT = 0.3
CHIEF_FRAMES = 2

Categorize = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node as a part of a loop's tick. Times are nanoseconds of a mean steady tick, or of the whole run.

    Attributes:
        loop: whose tick; None where it is of the run.
        node: the node.
        path: of the node.
        self_ns: in which the loop was here and in none of the nodes below, less what ticktree itself cost. All steps'
            own times and costs of ticktree add up to the tick.
        total_ns: in which the loop was here or below.
        beside_ns: own time that other threads, tasks or processes spent here while the loop went on with something
            else; also what `record` was told of.
        recorder_ns: what ticktree itself cost here.
        calls: how often it was called in a steady tick, on average.
        is_wait: whether it waits rather than works, or is in a wait.
        is_loop: whether it is a loop of its own, whose nodes are that loop's steps and not this one's.
        parent: path of the step it is in; None of the first.
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
    is_loop: bool
    parent: str | None
    category: str | None

    @property
    def is_parallel(self) -> bool:
        """Whether more of it runs beside the loop than on its path."""
        return self.beside_ns > 0 and self.self_ns < BESIDE_SHARE * (self.self_ns + self.beside_ns)

    @property
    def has_sections(self) -> bool:
        """Whether anything is a part of its time: what a device or another program did beside it is none."""
        below = self.node.children.values()
        return any(child.clock == HOST or child.concurrent_ns < child.total_ns for child in below)

    @property
    def is_slack(self) -> bool:
        """Whether it is the sleep of a loop that is asked to hold a rate: time to spare."""
        has_rate = self.loop is not None and bool(self.loop.hz)
        return has_rate and self.is_wait and self.node.name.casefold().startswith("sleep")


@dataclass(frozen=True)
class Frame:
    """What steps are parts of: the mean steady tick of a loop, or the run.

    Attributes:
        loop: None of the run.
        path: of the loop's node; "" of the run.
        ticks: how many steady ticks; 1 of the run.
        tick_ns: the mean steady tick; the length of the run.
        steps: its parts, parents before their children.
        weight: how long the loop went on, as a part of the loop that went on longest; 1 of the run.
        names: what nodes are called for short.
    """

    loop: Loop | None
    path: str
    ticks: int
    tick_ns: float
    steps: tuple[Step, ...]
    weight: float = 1.0
    names: ShortNames = field(default_factory=ShortNames, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What the loop is called for short; "" of the run."""
        return self.names.of_path(self.path)

    @cached_property
    def slack_ns(self) -> float:
        """What of the tick the loop slept to hold its rate."""
        return sum(step.self_ns for step in self.steps if step.is_slack)

    @cached_property
    def recorder_ns(self) -> float:
        """What of the tick ticktree itself cost."""
        return sum(step.recorder_ns for step in self.steps)

    def name_of(self, step: Step) -> str:
        """Return the short names that lead to `step` from the first step, to be read; the first one's own name."""
        names = paths.split(step.path)
        return self.names.joined(names[len(paths.split(self.path)) :]) or self.names.joined(names[-1:])


def frames(profile: Profile, categorize: Categorize, names: ShortNames | None = None) -> list[Frame]:
    """Return every loop that has steady ticks, the one that went on longest first; the run where none has.

    Args:
        profile: what was recorded.
        categorize: tells a name's category.
        names: what nodes are called for short; None where nobody has looked yet.
    """
    names = names or ShortNames(profile.root)
    spans = {path: _span_ns(profile.root.at(path), loop) for path, loop in profile.loops.items()}
    longest_ns = max(spans.values(), default=0.0)
    found = [
        _frame(loop, path, profile, categorize, names, spans[path] / longest_ns)
        for path, loop in profile.loops.items()
        if loop.stats.count and loop.stats.sum_ns > 0
    ]
    if not found and profile.root.total_ns > 0:
        return [_frame(None, paths.ROOT, profile, categorize, names, 1.0)]
    return sorted(found, key=lambda frame: (-frame.weight, frame.path))


def chief_frames(found: Sequence[Frame]) -> list[Frame]:
    """Return the loops that matter, at most two: long ones, and of one in another that it fills, the inner."""
    chief = [frame for frame in found if frame.weight >= CHIEF_WEIGHT and not _is_filled(frame)]
    return chief[:CHIEF_FRAMES]


def _is_filled(frame: Frame) -> bool:
    return any(step.is_loop and step.self_ns >= TELLING_SHARE * frame.tick_ns for step in frame.steps)


def _span_ns(node: Node, loop: Loop) -> float:
    """How long a loop went on: of one that several threads run side by side, the mean of them."""
    writers = sum(1 for share in node.by_writer.values() if share.count)
    return loop.stats.sum_ns / max(1, writers)


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node on the walk through a frame: what part of its time is on the loop's path, and what beside."""

    path: str
    node: Node
    parent: str | None
    on_path: float
    beside: float
    is_wait: bool
    within: Within


def _frame(
    loop: Loop | None, path: str, profile: Profile, categorize: Categorize, names: ShortNames, weight: float
) -> Frame:
    node = profile.root.at(path)
    ticks, whole_ns = (loop.stats.count, loop.stats.sum_ns) if loop else (1, node.total_ns)
    first = _Visit(path, node, None, 1.0, 0.0, node.wait, _within(profile.root, path, categorize))
    steps = tuple(_steps(loop, first, profile.loops, categorize, ticks, whole_ns))
    return Frame(loop, path, ticks, whole_ns / ticks, steps, weight, names)


def _steps(
    loop: Loop | None,
    first: _Visit,
    loops: Mapping[str, Loop],
    categorize: Categorize,
    ticks: int,
    whole_ns: float,
) -> Iterator[Step]:
    waiting = [first]
    while waiting:
        at = waiting.pop()
        took_ns = whole_ns if at is first else _took_ns(at.node, loop)
        is_loop = at is not first and at.path in loops
        below = {} if is_loop else {name: _below(child, loop) for name, child in at.node.children.items()}
        covered_ns = sum(ns for ns, _ in below.values())
        self_ns = max(0.0, took_ns - covered_ns)
        recorder_ns = min(self_ns, _recorder_ns(at.node, loop, whole=is_loop))
        yield Step(
            loop=loop,
            node=at.node,
            path=at.path,
            self_ns=at.on_path * (self_ns - recorder_ns) / ticks,
            total_ns=at.on_path * took_ns / ticks,
            beside_ns=at.beside * self_ns / ticks,
            recorder_ns=at.on_path * recorder_ns / ticks,
            calls=(at.node.steady.count if loop else at.node.count) / ticks,
            is_wait=at.is_wait,
            is_loop=is_loop,
            parent=at.parent,
            category=at.within.category,
        )
        # Calls that have not ended, and what is left out of order, may make the parts more than the whole: they are
        # made to fit, so that the tick adds up.
        fitted = min(1.0, took_ns / covered_ns) if covered_ns > 0 else 1.0
        waiting.extend(_visit(at, name, below[name][1], fitted, categorize) for name in reversed(below))


def _visit(at: _Visit, name: str, share: float, fitted: float, categorize: Categorize) -> _Visit:
    """Return the visit to a child, of whose time `share` is its parent's and of that `fitted` has room there."""
    child = at.node.children[name]
    is_wait = at.is_wait or child.wait
    return _Visit(
        path=paths.child(at.path, name),
        node=child,
        parent=at.path,
        on_path=at.on_path * share * fitted,
        beside=1 - (1 - at.beside) * share,
        is_wait=is_wait,
        within=within(child, at.within, categorize),
    )


def _within(root: Node, path: str, categorize: Categorize) -> Within:
    """Return what the node at `path` is in; the root is in nothing."""
    node, found = root, Within()
    for name in paths.split(path):
        node = node.children[name]
        found = within(node, found, categorize)
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
