"""Tallies: sums in the making. Adding a thousand parts by `+` would copy what was added so far a thousand times.

Each gives in the end what folding with `+` gives; a property test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ticktree.profile.clock import HOST, Clock
from ticktree.profile.histogram import Histogram
from ticktree.profile.measures import CallSite, Cpu, Memory, Open, Work
from ticktree.profile.merging import present, smallest
from ticktree.profile.node import Node
from ticktree.profile.share import Share
from ticktree.profile.stats import Stats
from ticktree.profile.wakes import Waker, Wakes
from ticktree.profile.windows import BASE_WIDTH_NS, Windows


class StatsTally:
    """Durations of completed calls, added up."""

    __slots__ = ("_buckets", "_count", "_max_ns", "_min_ns", "_sum_ns")

    def __init__(self) -> None:
        self._count = self._sum_ns = 0
        self._min_ns: int | None = None
        self._max_ns: int | None = None
        self._buckets: dict[int, int] = {}

    def add(self, stats: Stats) -> None:
        """Add one part."""
        self.add_calls(stats.count, stats.sum_ns, stats.min_ns, stats.max_ns, stats.histogram.buckets.items())

    def add_calls(
        self,
        count: int,
        sum_ns: int,
        min_ns: int | None,
        max_ns: int | None,
        buckets: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Add one part that was never made a `Stats`, field by field."""
        self._count += count
        self._sum_ns += sum_ns
        if min_ns is not None and (self._min_ns is None or min_ns < self._min_ns):
            self._min_ns = min_ns
        if max_ns is not None and (self._max_ns is None or max_ns > self._max_ns):
            self._max_ns = max_ns
        so_far = self._buckets
        for bucket, counted in buckets:
            so_far[bucket] = so_far.get(bucket, 0) + counted

    def total(self) -> Stats:
        """Return the sum of all parts."""
        return Stats(self._count, self._sum_ns, self._min_ns, self._max_ns, Histogram(dict(self._buckets)))


class WindowsTally:
    """Calls over the run's time, added up."""

    __slots__ = ("_counts", "_totals", "_width_ns")

    def __init__(self) -> None:
        self._width_ns = BASE_WIDTH_NS
        self._counts: dict[int, int] = {}
        self._totals: dict[int, int] = {}

    def add(self, windows: Windows) -> None:
        """Add one part."""
        self.add_series(windows.width_ns, windows.counts.items(), windows.totals.items())

    def add_series(
        self, width_ns: int, counts: Iterable[tuple[int, int]], totals: Iterable[tuple[int, int]]
    ) -> None:
        """Add one part that was never made `Windows`, field by field."""
        if width_ns > self._width_ns:
            whole = self.total().coarsened(width_ns)
            self._width_ns = width_ns
            self._counts, self._totals = dict(whole.counts), dict(whole.totals)
        factor = self._width_ns // width_ns
        for so_far, more in ((self._counts, counts), (self._totals, totals)):
            for index, amount in more:
                so_far[index // factor] = so_far.get(index // factor, 0) + amount

    def total(self) -> Windows:
        """Return the sum of all parts."""
        return Windows(self._width_ns, dict(self._counts), dict(self._totals))


class NodeTally:
    """Everything about one place in the tree, added up; but for its children, which are places of their own.

    Attributes:
        name: of the node.
        clock: of the node.
        self_ns, concurrent_ns, wait, work, cpu, memory, device_memory, device, open, recorder_ns, raised: so
            far, as in `Node`.
        steady: completed calls after warm-up.
        warmup: completed calls before that; None where no part has a warm-up.
        windows: calls over the run's time, of the parts whose windows are known.
        windows_known: whether those of every part are.
        writers_known: whether it is known of every part who wrote it.
    """

    __slots__ = (
        "_call_sites",
        "_per_run",
        "_shares",
        "_wakers",
        "clock",
        "concurrent_ns",
        "cpu",
        "device",
        "device_memory",
        "memory",
        "name",
        "open",
        "raised",
        "recorder_ns",
        "self_ns",
        "steady",
        "wait",
        "warmup",
        "windows",
        "windows_known",
        "work",
        "writers_known",
    )

    def __init__(self, name: str, clock: Clock = HOST) -> None:
        self.name = name
        self.clock = clock
        self.self_ns = self.concurrent_ns = self.recorder_ns = self.raised = 0
        self.steady = StatsTally()
        self.warmup: StatsTally | None = None
        self.windows = WindowsTally()
        self.wait = False
        self.work: Work | None = None
        self.cpu: Cpu | None = None
        self.memory: Memory | None = None
        self.device_memory: Memory | None = None
        self.device: str | None = None
        self.open: Open | None = None
        self.windows_known = self.writers_known = True
        self._call_sites: dict[CallSite, int] = {}
        self._per_run: dict[str, list[int]] = {}
        self._shares: dict[str, list[int]] = {}
        self._wakers: dict[Waker, Wakes] = {}

    def add(self, node: Node) -> None:
        """Add one part, without its children."""
        self.self_ns += node.self_ns
        self.concurrent_ns += node.concurrent_ns
        self.recorder_ns += node.recorder_ns
        self.raised += node.raised
        self.steady.add(node.steady)
        if node.warmup is not None:
            self.with_warmup().add(node.warmup)
        self.windows.add(node.windows)
        self.windows_known = self.windows_known and node.windows.count == node.count
        self.writers_known = self.writers_known and node.attributed
        self.add_measures(node.work, node.cpu, node.memory, node.device, node.open)
        self.add_device_memory(node.device_memory)
        self.wait = self.wait or node.wait
        self.add_call_sites(node.call_sites)
        for run, (count, sum_ns) in node.per_run.items():
            self.add_run(run, count, sum_ns)
        for writer, share in node.by_writer.items():
            self.add_share(writer, share.count, share.total_ns, share.self_ns)
        for waker, wakes in node.wakers.items():
            self.add_wakes(waker, wakes)

    def with_warmup(self) -> StatsTally:
        """Return the calls of the warm-up, there from now on."""
        if self.warmup is None:
            self.warmup = StatsTally()
        return self.warmup

    def add_measures(
        self,
        work: Work | None,
        cpu: Cpu | None,
        memory: Memory | None,
        device: str | None,
        open_: Open | None,
    ) -> None:
        """Add what was measured beside times; None where it was not."""
        self.work = present(self.work, work)
        self.cpu = present(self.cpu, cpu)
        self.memory = present(self.memory, memory)
        self.device = smallest(self.device, device)
        self.open = present(self.open, open_)

    def add_device_memory(self, memory: Memory | None) -> None:
        """Add what was measured of devices' memory; None where it was not."""
        self.device_memory = present(self.device_memory, memory)

    def add_call_sites(self, sites: Mapping[CallSite, int]) -> None:
        """Add how often each line entered it."""
        for site, count in sites.items():
            self._call_sites[site] = self._call_sites.get(site, 0) + count

    def add_run(self, run: str, count: int, sum_ns: int) -> None:
        """Add calls of one run."""
        entry = self._per_run.setdefault(run, [0, 0])
        entry[0] += count
        entry[1] += sum_ns

    def add_share(self, writer: str, count: int, total_ns: int, self_ns: int) -> None:
        """Add one writer's part."""
        entry = self._shares.setdefault(writer, [0, 0, 0])
        entry[0] += count
        entry[1] += total_ns
        entry[2] += self_ns

    def add_wakes(self, waker: Waker, wakes: Wakes) -> None:
        """Add waits that one waker ended."""
        self._wakers[waker] = self._wakers[waker] + wakes if waker in self._wakers else wakes

    def total(self, children: Mapping[str, Node]) -> Node:
        """Return the sum of all parts, with the finished `children` below it."""
        return Node(
            name=self.name,
            clock=self.clock,
            self_ns=self.self_ns,
            concurrent_ns=self.concurrent_ns,
            steady=self.steady.total(),
            warmup=self.warmup.total() if self.warmup is not None else None,
            windows=self.windows.total() if self.windows_known else Windows(),
            wait=self.wait,
            call_sites=dict(self._call_sites),
            work=self.work,
            cpu=self.cpu,
            memory=self.memory,
            device_memory=self.device_memory,
            device=self.device,
            open=self.open,
            recorder_ns=self.recorder_ns,
            raised=self.raised,
            per_run={run: (count, sum_ns) for run, (count, sum_ns) in self._per_run.items()},
            by_writer={key: Share(*part) for key, part in self._shares.items()} if self.writers_known else {},
            wakers=dict(self._wakers),
            children=children,
        )
