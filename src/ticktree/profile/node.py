"""Node: a section at its place in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter

from ticktree.profile import node_json as json
from ticktree.profile import path as paths
from ticktree.profile.fields import FLAG, TEXT, WHOLE, Object
from ticktree.profile.measures import (
    DEVICE,
    HOST,
    CallSite,
    Clock,
    Cpu,
    Memory,
    Open,
    Share,
    Waker,
    Wakes,
    Work,
    key_of,
    rates,
)
from ticktree.profile.stats import Stats, Windows
from ticktree.profile.table import (
    Mergeable,
    add,
    any_of,
    by_key,
    columns,
    counts,
    merged_fields,
    nested,
    object_of,
    of_values,
    same,
    smallest,
    stored,
    where_known,
    whole,
)

MAX_DEPTH = 1000


def _runs(values: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for runs in values:
        for run, (count, sum_ns) in runs.items():
            so_far = found.get(run, (0, 0))
            found[run] = (so_far[0] + count, so_far[1] + sum_ns)
    return found


_WINDOWS = where_known(lambda node: node.windows_known, whole, Windows())
_SHARES = where_known(lambda node: node.attributed, by_key, {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node(Mergeable):
    """Where time went under one path. A node with only a name and a clock is the identity of `+` for its like.

    For every node `total_ns == self_ns + sum(child.total_ns - child.concurrent_ns)`: totals are not stored but
    derived, so the times sum exactly whatever was recorded.

    Trees are as deep as the program recursed, which may be deeper than Python lets a function call itself:
    nothing here is recursive, equality included.

    Attributes:
        name: the section's name, unescaped.
        clock: what its time was measured with.
        self_ns: the node's self time, in which none of its children ran.
        concurrent_ns: what of its total does not count against its parent, because something else that counts
            ran at the same time; signed.
        steady: completed calls after warm-up, or all of them where there is no warm-up.
        warmup: completed calls before that. Merges by adding; None where neither has a warm-up.
        windows: all completed calls over the run's time. Merges by adding; empty, which means not known, as
            soon as one part that has calls has no windows.
        wait: whether the section waits rather than works.
        call_sites: how often each line entered it.
        work: the work that it declared, None if it declared none.
        cpu: CPU time, None if never sampled.
        memory: resident memory, None if never sampled.
        device_memory: memory of devices, None if never sampled or there was none.
        device: None, or why the requested device time is unsupported here. Where it is not, it is in children
            of the device's clock.
        open: calls not yet ended, None if there are none.
        recorder_ns: what of `self_ns` ticktree itself is estimated to have cost.
        raised: how many of its completed calls an exception ended. An iterator's end and a generator's closing are
            none.
        per_run: calls and nanoseconds of each run, by run id.
        by_writer: each writer's part, by writer id. Merges by adding; empty, which means not known, as soon as one
            part that has calls or time does not know whose they are.
        wakers: the wake edges that ended its calls, where it waits.
        children: the nodes below it, by `key`: the name and, where it is not the host's, the clock.
        stats: all completed calls, `steady + warmup`. Derived.
        total_ns: self time and the children's. Derived.
    """

    name: str = stored(same, TEXT)
    clock: Clock = stored(same, json.CLOCK, optional=True, default=HOST)
    self_ns: int = stored(add, WHOLE, least=0, default=0)
    concurrent_ns: int = stored(add, WHOLE, default=0)
    recorder_ns: int = stored(add, WHOLE, default=0)
    steady: Stats = stored(whole, json.STEADY, factory=Stats)
    warmup: Stats | None = stored(whole, nested(Stats), optional=True, default=None)
    wait: bool = stored(any_of, FLAG, default=False)
    windows: Windows = stored(_WINDOWS, nested(Windows), optional=True, factory=Windows)
    raised: int = stored(add, WHOLE, optional=True, least=0, default=0)
    call_sites: Mapping[CallSite, int] = stored(counts, json.CALL_SITES, optional=True, factory=dict)
    per_run: Mapping[str, tuple[int, int]] = stored(
        of_values(_runs), json.PER_RUN, optional=True, factory=dict
    )
    by_writer: Mapping[str, Share] = stored(_SHARES, json.SHARES, optional=True, factory=dict)
    wakers: Mapping[Waker, Wakes] = stored(by_key, json.WAKERS, key="woken_by", optional=True, factory=dict)
    work: Work | None = stored(whole, nested(Work), optional=True, default=None)
    cpu: Cpu | None = stored(whole, nested(Cpu), optional=True, default=None)
    memory: Memory | None = stored(whole, nested(Memory), optional=True, default=None)
    device_memory: Memory | None = stored(whole, nested(Memory), optional=True, default=None)
    device: str | None = stored(smallest, json.DEVICE, optional=True, default=None)
    open: Open | None = stored(whole, nested(Open), optional=True, default=None)
    children: Mapping[str, Node] = field(default_factory=dict, repr=False)
    stats: Stats = field(init=False, repr=False)
    total_ns: int = field(init=False)

    def __post_init__(self) -> None:
        stats = self.steady if self.warmup is None else self.steady + self.warmup
        object.__setattr__(self, "stats", stats)
        total_ns = self.self_ns
        for child in self.children.values():
            total_ns += child.total_ns - child.concurrent_ns
        object.__setattr__(self, "total_ns", total_ns)

    @classmethod
    def _of(cls, parts: Sequence[Node]) -> Node:
        # Every group is the nodes of one place in the tree, with the group above it.
        groups: list[tuple[list[Node], int]] = [(list(parts), -1)]
        for at, (nodes, _) in enumerate(groups):  # from the root down: the list grows while it is walked
            if len(nodes) > 1:  # else it is whole already, with all below it
                below: dict[str, list[Node]] = {}
                for node in nodes:
                    for key, child in node.children.items():
                        below.setdefault(key, []).append(child)
                groups.extend((alike, at) for alike in below.values())
        children: list[dict[str, Node]] = [{} for _ in groups]
        for nodes, above in reversed(groups):  # from the leaves up
            below_it = children.pop()
            merged = nodes[0] if len(nodes) == 1 else Node(**merged_fields(Node, nodes, children=below_it))
            if above < 0:
                return merged
            children[above][merged.key] = merged
        raise AssertionError("the root comes last")

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
    def windows_known(self) -> bool:
        """Whether all its calls are in its windows."""
        return self.windows.count == self.count

    @property
    def attributed(self) -> bool:
        """Whether it is known which workers made its calls and spent its time."""
        shares = self.by_writer.values()
        if not shares:
            return not (self.total_ns or self.self_ns or self.count)
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

    @property
    def works_below(self) -> bool:
        """Whether any node below this one does more than wait."""
        return any(not node.wait for _, _, node in self.walk() if node is not self)

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

    def derived(self, written: Object) -> Object:
        """Return what JSON has of it but for its path and children."""
        steady = written.pop("steady")
        if self.warmup is not None:
            written |= {**object_of(self.stats, {}), "steady": steady}
        else:
            written |= steady
        if self.work is not None:
            found = asdict(rates(self.work, self.total_ns))
            written["work"].update((name, rate) for name, rate in found.items() if rate is not None)
        if self.on_devices:
            calls, spent_ns = (
                sum(getattr(on, name) for on in self.on_devices) for name in ("count", "total_ns")
            )
            written["device"] = {**written.get("device", {}), "count": calls, "total_ns": spent_ns}
        site = object_of(self.call_site, {}) if self.call_site else None
        return {**written, "total_ns": self.total_ns, "parallel": self.parallel, "call_site": site}

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken in this node itself."""
        yield from Mergeable.problems(self)
        if self.total_ns != self.self_ns + sum(c.total_ns - c.concurrent_ns for c in self.children.values()):
            yield "its total is not its self time and its children's"
        if not 0 <= self.recorder_ns <= max(0, self.self_ns):
            yield f"ticktree's own cost, {self.recorder_ns} ns, is not within its self time, {self.self_ns} ns"
        if self.windows.counts and self.windows.count != self.count:
            yield f"the windows hold {self.windows.count} calls where {self.count} were counted"
        if self.raised > self.count:
            yield f"exceptions ended {self.raised} of its {self.count} calls"
        if any(count < 1 for count in self.call_sites.values()):
            yield "a call site was never called"
        if any(count < 0 or sum_ns < 0 for count, sum_ns in self.per_run.values()):
            yield "a run's part of it is negative"
        if sum(count for count, _ in self.per_run.values()) > self.count:
            yield f"its runs made more calls than the {self.count} counted"
        if self.by_writer and not self.attributed:
            yield "its writers' calls and times are not its own together"
        if any(key != child.key for key, child in self.children.items()):
            yield "a child is filed under another name or clock than its own"


_RECORD = attrgetter(*(column.name for column in columns(Node)))
