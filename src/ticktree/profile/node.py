"""Node: a section at one position in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter

from ticktree.profile import node_json as json
from ticktree.profile import path as paths
from ticktree.profile.fields import FLAG, INT, TEXT, Object
from ticktree.profile.measures import (
    DEVICE,
    HOST,
    CallSite,
    Clock,
    Cpu,
    Memory,
    OpenCalls,
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
    column,
    columns,
    counts,
    merge_parts,
    merged_fields,
    nested,
    same,
    smallest,
    to_object,
    value_rule,
    where_known,
)

MAX_DEPTH = 1000


def _sum_runs(values: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    totals: dict[str, tuple[int, int]] = {}
    for runs in values:
        for run, (count, sum_ns) in runs.items():
            total = totals.get(run, (0, 0))
            totals[run] = (total[0] + count, total[1] + sum_ns)
    return totals


_WINDOWS = where_known(lambda node: node.windows_known, merge_parts, Windows())
_SHARES = where_known(lambda node: node.attributed, by_key, {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node(Mergeable):
    """The time of one path. A node with only a name and a clock is the identity of `+` for nodes of that key.

    For every node `total_ns == self_ns + sum(child.total_ns - child.concurrent_ns)`: totals are derived, not stored,
    so the times always sum exactly.

    Trees are as deep as the program recursed, which may exceed Python's recursion limit: no method here recurses,
    equality included.

    Attributes:
        name: the section's name, unescaped.
        clock: what its time was measured with.
        self_ns: the node's self time, in which none of its children ran.
        concurrent_ns: the part of its total that does not count against its parent, because something else that counts
            ran at the same time; signed.
        steady: completed calls after warm-up, or all of them if there is no warm-up.
        warmup: completed calls before that. Merges by adding; None if neither has a warm-up.
        windows: all completed calls over the run's time. Merges by adding; empty, which means unknown, if any part
            with calls has no windows.
        wait: whether the section waits rather than works.
        call_sites: how often each line entered it.
        work: the work that it declared, None if it declared none.
        cpu: CPU time, None if never sampled.
        memory: resident memory, None if never sampled.
        device_memory: memory of devices, None if never sampled or there was none.
        device: None, or why the requested device time is unsupported here. Supported device time is in children with
            the device's clock.
        open: calls that have not ended, None if there are none.
        recorder_ns: the part of `self_ns` that ticktree itself is estimated to have cost.
        raised: how many of its completed calls ended by an exception, other than the end of an iterator or the closing
            of a generator.
        per_run: calls and nanoseconds of each run, by run id.
        by_thread: each thread's part, by thread id. Merges by adding; empty, which means unknown, if any part with
            calls or time does not know its threads.
        wakers: the wake edges that ended its calls, if it waits.
        children: the nodes below it, by `key`: the name and, unless it is the host's, the clock.
        stats: all completed calls, `steady + warmup`. Derived.
        total_ns: self time and the children's. Derived.
    """

    name: str = column(same, TEXT)
    clock: Clock = column(same, json.CLOCK, optional=True, default=HOST)
    self_ns: int = column(add, INT, minimum=0, default=0)
    concurrent_ns: int = column(add, INT, default=0)
    recorder_ns: int = column(add, INT, default=0)
    steady: Stats = column(merge_parts, json.STEADY, factory=Stats)
    warmup: Stats | None = column(merge_parts, nested(Stats), optional=True, default=None)
    wait: bool = column(any_of, FLAG, default=False)
    windows: Windows = column(_WINDOWS, nested(Windows), optional=True, factory=Windows)
    raised: int = column(add, INT, optional=True, minimum=0, default=0)
    call_sites: Mapping[CallSite, int] = column(counts, json.CALL_SITES, optional=True, factory=dict)
    per_run: Mapping[str, tuple[int, int]] = column(
        value_rule(_sum_runs), json.PER_RUN, optional=True, factory=dict
    )
    by_thread: Mapping[str, Share] = column(_SHARES, json.SHARES, optional=True, factory=dict)
    wakers: Mapping[Waker, Wakes] = column(by_key, json.WAKERS, key="woken_by", optional=True, factory=dict)
    work: Work | None = column(merge_parts, nested(Work), optional=True, default=None)
    cpu: Cpu | None = column(merge_parts, nested(Cpu), optional=True, default=None)
    memory: Memory | None = column(merge_parts, nested(Memory), optional=True, default=None)
    device_memory: Memory | None = column(merge_parts, nested(Memory), optional=True, default=None)
    device: str | None = column(smallest, json.DEVICE, optional=True, default=None)
    open: OpenCalls | None = column(merge_parts, nested(OpenCalls), optional=True, default=None)
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
    def _merge_like(cls, parts: Sequence[Node]) -> Node:
        # A group is all nodes of one path, and the index of their parents' group.
        groups: list[tuple[list[Node], int]] = [(list(parts), -1)]
        for index, (nodes, _) in enumerate(groups):  # from the root down: the list grows while it is walked
            if len(nodes) > 1:  # else it is complete already, with its children
                children_by_key: dict[str, list[Node]] = {}
                for node in nodes:
                    for key, child in node.children.items():
                        children_by_key.setdefault(key, []).append(child)
                groups.extend((siblings, index) for siblings in children_by_key.values())
        children: list[dict[str, Node]] = [{} for _ in groups]
        for nodes, parent in reversed(groups):  # from the leaves up
            children_of_group = children.pop()
            merged = (
                nodes[0]
                if len(nodes) == 1
                else Node(**merged_fields(Node, nodes, children=children_of_group))
            )
            if parent < 0:
                return merged
            children[parent][merged.key] = merged
        raise AssertionError("the root comes last")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        pairs = [(self, other)]
        for left, right in pairs:
            if left.children.keys() != right.children.keys() or _FIELD_VALUES(left) != _FIELD_VALUES(right):
                return False
            pairs.extend((child, right.children[name]) for name, child in left.children.items())
        return True

    __hash__ = None  # type: ignore[assignment]  # it holds mappings, as every part of a profile does

    @property
    def key(self) -> str:
        """Its key in its parent's `children`, and its name in paths."""
        return key_of(self.name, self.clock)

    @property
    def count(self) -> int:
        """Completed calls, warm-up included."""
        return self.stats.count

    @property
    def parallel(self) -> bool:
        """Whether its calls or its children's overlapped others in time, or several threads made them."""
        if self.concurrent_ns or any(child.concurrent_ns for child in self.children.values()):
            return True
        return sum(1 for share in self.by_thread.values() if share.count) > 1

    @property
    def on_devices(self) -> tuple[Node, ...]:
        """The time of devices for its calls, one node per device; empty if that was not measured."""
        return tuple(child for child in self.children.values() if child.clock == DEVICE)

    @property
    def windows_known(self) -> bool:
        """Whether all its calls are in its windows."""
        return self.windows.count == self.count

    @property
    def attributed(self) -> bool:
        """Whether it is known which workers made its calls and spent its time."""
        shares = self.by_thread.values()
        if not shares:
            return not (self.total_ns or self.self_ns or self.count)
        return (
            self.total_ns == sum(share.total_ns for share in shares)
            and self.self_ns == sum(share.self_ns for share in shares)
            and self.count == sum(share.count for share in shares)
        )

    @property
    def call_site(self) -> CallSite | None:
        """The line that entered it; None if none or several are known."""
        return next(iter(self.call_sites)) if len(self.call_sites) == 1 else None

    def at(self, path: str) -> Node:
        """Return the node at `path` below this one; this one if `path` is "".

        Raises:
            KeyError: there is no such node.
        """
        node = self.find(path)
        if node is None:
            raise KeyError(path)
        return node

    def find(self, path: str) -> Node | None:
        """Return the same node as `at`; None if there is none, for example because its process was not read."""
        node: Node | None = self
        for name in paths.split(path):
            node = None if node is None else node.children.get(name)
        return node

    @property
    def works_below(self) -> bool:
        """Whether any node below this one does more than wait."""
        return any(not node.wait for _, _, node in self.walk() if node is not self)

    def walk(self) -> Iterator[tuple[str, int, Node]]:
        """Yield path, depth and node of this node and its descendants, parents before their children.

        Paths are relative to this node, whose path is "" and whose depth is 0.
        """
        stack = [("", 0, self)]
        while stack:
            path, depth, node = stack.pop()
            yield path, depth, node
            children = [(paths.child(path, name), depth + 1, child) for name, child in node.children.items()]
            stack.extend(reversed(children))

    def derived(self, written: Object) -> Object:
        """Add the derived fields to the JSON, path and children left out."""
        steady = written.pop("steady")
        if self.warmup is not None:
            written |= {**to_object(self.stats, {}), "steady": steady}
        else:
            written |= steady
        if self.work is not None:
            node_rates = asdict(rates(self.work, self.total_ns))
            written["work"].update((name, rate) for name, rate in node_rates.items() if rate is not None)
        if self.on_devices:
            count, total_ns = (
                sum(getattr(child, name) for child in self.on_devices) for name in ("count", "total_ns")
            )
            written["device"] = {**written.get("device", {}), "count": count, "total_ns": total_ns}
        site = to_object(self.call_site, {}) if self.call_site else None
        return {**written, "total_ns": self.total_ns, "parallel": self.parallel, "call_site": site}

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that this node itself breaks."""
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
        if self.by_thread and not self.attributed:
            yield "its threads' calls and times are not its own together"
        if any(key != child.key for key, child in self.children.items()):
            yield "a child is filed under another name or clock than its own"


_FIELD_VALUES = attrgetter(*(col.name for col in columns(Node)))
