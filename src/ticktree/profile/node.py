"""Node: a section at its place in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from ticktree.profile import path as paths
from ticktree.profile.clock import DEVICE, HOST, Clock, key_of
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Work
from ticktree.profile.merging import present, smallest, sums, union
from ticktree.profile.share import Share
from ticktree.profile.stats import Stats
from ticktree.profile.wakes import Waker, Wakes
from ticktree.profile.windows import Windows

MAX_DEPTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """Where time went under one path. A node with only a name and a clock is the identity of `+` for its like.

    For every node `total_ns == self_ns + sum(child.total_ns - child.concurrent_ns)`: totals are not stored but
    derived, so the accounts add up whatever was recorded.

    Trees are as deep as the program recursed, which may be deeper than Python lets a function call itself:
    nothing here is recursive, equality included.

    Attributes:
        name: the section's name, unescaped. The same in all nodes merged.
        clock: what its time was measured with. The same in all nodes merged.
        self_ns: the node's own time, in which none of its children ran. Merges by adding.
        concurrent_ns: what of its total does not count against its parent, because something else that counts
            ran at the same time; signed. Merges by adding.
        steady: completed calls after warm-up, or all of them where there is no warm-up. Merges by adding.
        warmup: completed calls before that. Merges by adding; None where neither has a warm-up.
        windows: all completed calls over the run's time. Merges by adding; empty, which means not known, as
            soon as one part that has calls has no windows.
        wait: whether the section waits rather than works. Merges by or.
        call_sites: how often each line entered it. Merges by adding.
        work: what work it said it did, None if it never said. Merges by adding.
        cpu: CPU time, None if never sampled. Merges by adding.
        memory: resident memory, None if never sampled. Merges by adding.
        device_memory: memory of devices, None if never sampled or there was none. Merges by adding.
        device: None, or why the device time that was asked for is unsupported here. Where it is not, it is in children
            of the device's clock. Merges by the alphabetically first reason.
        open: calls not yet ended, None if there are none. Merges by adding.
        recorder_ns: what of `self_ns` ticktree itself is estimated to have cost. Merges by adding.
        raised: how many of its completed calls an exception ended. An iterator's end and a generator's closing are
            none. Merges by adding.
        per_run: calls and nanoseconds of each run, by run id. Merges by adding.
        by_writer: each writer's part, by writer id. Merges by adding; empty, which means not known, as soon as one
            part that has calls or time does not know whose they are.
        wakers: who let its calls go on, where it waits. Merges by adding.
        children: the nodes below it, by `key`: the name and, where it is not the host's, the clock. Merges by key.
        stats: all completed calls, `steady + warmup`. Derived.
        total_ns: own time and the children's. Derived.
    """

    name: str
    clock: Clock = HOST
    self_ns: int = 0
    concurrent_ns: int = 0
    steady: Stats = field(default_factory=Stats)
    warmup: Stats | None = None
    windows: Windows = field(default_factory=Windows)
    wait: bool = False
    call_sites: Mapping[CallSite, int] = field(default_factory=dict)
    work: Work | None = None
    cpu: Cpu | None = None
    memory: Memory | None = None
    device_memory: Memory | None = None
    device: str | None = None
    open: Open | None = None
    recorder_ns: int = 0
    raised: int = 0
    per_run: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    by_writer: Mapping[str, Share] = field(default_factory=dict)
    wakers: Mapping[Waker, Wakes] = field(default_factory=dict)
    children: Mapping[str, Node] = field(default_factory=dict, repr=False)
    stats: Stats = field(init=False, repr=False)
    total_ns: int = field(init=False)

    def __post_init__(self) -> None:
        stats = self.steady if self.warmup is None else self.steady + self.warmup
        object.__setattr__(self, "stats", stats)
        covered_ns = sum(child.total_ns - child.concurrent_ns for child in self.children.values())
        object.__setattr__(self, "total_ns", self.self_ns + covered_ns)

    def __add__(self, other: Node) -> Node:
        # From the root down, pair the nodes that both trees have; then join the pairs from the leaves up.
        pairs = [(self, other, -1)]
        for place, (left, right, _) in enumerate(pairs):  # the list grows while it is walked
            shared = left.children.keys() & right.children.keys()
            pairs.extend((left.children[name], right.children[name], place) for name in shared)
        joined: list[dict[str, Node]] = [{} for _ in pairs]
        for left, right, parent in reversed(pairs[1:]):
            joined[parent][left.key] = left._joined(right, joined.pop())
        return self._joined(other, joined[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        pairs = [(self, other)]
        for left, right in pairs:
            if left.children.keys() != right.children.keys() or _RECORD(left) != _RECORD(right):
                return False
            pairs.extend((child, right.children[name]) for name, child in left.children.items())
        return True

    __hash__ = None  # type: ignore[assignment]  # it holds mappings, as every part of a profile does

    @property
    def key(self) -> str:
        """What it is filed under in its parent's `children`, and called in paths."""
        return key_of(self.name, self.clock)

    @property
    def count(self) -> int:
        """Completed calls, warm-up included."""
        return self.stats.count

    @property
    def parallel(self) -> bool:
        """Whether its calls or its children's overlapped others in time, or several writers made them."""
        if self.concurrent_ns or any(child.concurrent_ns for child in self.children.values()):
            return True
        return sum(1 for share in self.by_writer.values() if share.count) > 1

    @property
    def on_devices(self) -> tuple[Node, ...]:
        """What devices did for its calls, one node a device; empty where that was not measured."""
        return tuple(child for child in self.children.values() if child.clock == DEVICE)

    @property
    def attributed(self) -> bool:
        """Whether it is known who made its calls and spent its time."""
        shares = self.by_writer.values()
        return (
            self.total_ns == sum(share.total_ns for share in shares)
            and self.self_ns == sum(share.self_ns for share in shares)
            and self.count == sum(share.count for share in shares)
        )

    @property
    def call_site(self) -> CallSite | None:
        """The line that entered it; None where none is known or several did."""
        return next(iter(self.call_sites)) if len(self.call_sites) == 1 else None

    def at(self, path: str) -> Node:
        """Return the node reached from this one by `path`; this one, where `path` is "".

        Raises:
            KeyError: there is no such node.
        """
        node = self.find(path)
        if node is None:
            raise KeyError(path)
        return node

    def find(self, path: str) -> Node | None:
        """Return what `at` does; None where there is no such node, as where its process was not read."""
        node: Node | None = self
        for name in paths.split(path):
            node = None if node is None else node.children.get(name)
        return node

    def walk(self) -> Iterator[tuple[str, int, Node]]:
        """Yield path, depth and node of this one and all below it, parents before their children.

        Paths are relative to this node, whose own is "" and whose depth is 0.
        """
        waiting = [("", 0, self)]
        while waiting:
            path, depth, node = waiting.pop()
            yield path, depth, node
            below = [(paths.child(path, name), depth + 1, child) for name, child in node.children.items()]
            waiting.extend(reversed(below))

    def _joined(self, other: Node, joined: Mapping[str, Node]) -> Node:
        """Merge two nodes whose common children are already merged, in `joined`."""
        if self.name != other.name:
            raise ValueError(f"nodes of different names do not merge: {self.name!r} and {other.name!r}")
        if self.clock != other.clock:
            raise ValueError(f"nodes of different clocks do not merge: {self.key!r} and {other.key!r}")
        windows_known = all(node.windows.count == node.count for node in (self, other))
        writers_known = self.attributed and other.attributed
        return Node(
            name=self.name,
            clock=self.clock,
            self_ns=self.self_ns + other.self_ns,
            concurrent_ns=self.concurrent_ns + other.concurrent_ns,
            steady=self.steady + other.steady,
            warmup=present(self.warmup, other.warmup),
            windows=self.windows + other.windows if windows_known else Windows(),
            wait=self.wait or other.wait,
            call_sites=sums(self.call_sites, other.call_sites),
            work=present(self.work, other.work),
            cpu=present(self.cpu, other.cpu),
            memory=present(self.memory, other.memory),
            device_memory=present(self.device_memory, other.device_memory),
            device=smallest(self.device, other.device),
            open=present(self.open, other.open),
            recorder_ns=self.recorder_ns + other.recorder_ns,
            raised=self.raised + other.raised,
            per_run=_runs(self.per_run, other.per_run),
            by_writer=union(self.by_writer, other.by_writer) if writers_known else {},
            wakers=union(self.wakers, other.wakers),
            children={**self.children, **other.children, **joined},
        )

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken in this node itself."""
        measures = (self.work, self.cpu, self.memory, self.device_memory, self.open)
        for part in (self.steady, self.warmup, self.windows, *measures):
            if part is not None:
                yield from part.problems()
        if self.self_ns < 0:
            yield f"its own time is negative: {self.self_ns} ns"
        if self.total_ns != self.self_ns + sum(c.total_ns - c.concurrent_ns for c in self.children.values()):
            yield "its total is not its own time and its children's"
        if not 0 <= self.recorder_ns <= max(0, self.self_ns):
            yield f"ticktree's own cost, {self.recorder_ns} ns, is not within its own time, {self.self_ns} ns"
        if self.windows.counts and self.windows.count != self.count:
            yield f"the windows hold {self.windows.count} calls where {self.count} were counted"
        if not 0 <= self.raised <= self.count:
            yield f"exceptions ended {self.raised} of its {self.count} calls"
        if any(count < 1 for count in self.call_sites.values()):
            yield "a call site was never called"
        yield from self._problems_of_runs()
        yield from self._problems_of_writers()
        if any(key != child.key for key, child in self.children.items()):
            yield "a child is filed under another name or clock than its own"

    def _problems_of_runs(self) -> Iterator[str]:
        if any(count < 0 or sum_ns < 0 for count, sum_ns in self.per_run.values()):
            yield "a run's part of it is negative"
        if sum(count for count, _ in self.per_run.values()) > self.count:
            yield f"its runs made more calls than the {self.count} counted"

    def _problems_of_writers(self) -> Iterator[str]:
        if self.by_writer and not self.attributed:
            yield "its writers' calls and times are not its own together"
        for share in self.by_writer.values():
            yield from share.problems()
        for wakes in self.wakers.values():
            yield from wakes.problems()


_RECORD = attrgetter(
    *(name for name in Node.__dataclass_fields__ if name not in ("children", "stats", "total_ns"))
)


def _runs(
    left: Mapping[str, tuple[int, int]], right: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    result = dict(left)
    for run, (count, sum_ns) in right.items():
        so_far = result.get(run, (0, 0))
        result[run] = (so_far[0] + count, so_far[1] + sum_ns)
    return result
