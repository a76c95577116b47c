"""Parts: the records of one memory file's nodes, in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ticktree.profile import MAX_DEPTH, CallSite, Cpu, Memory, OpenCalls, Stats, Work
from ticktree.profile import Clock as NodeClock
from ticktree.profile.histogram import Histogram
from ticktree.profile.stats import BASE_WIDTH_NS, Windows
from ticktree.run.reading.accounts import Accounts, Clock
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag, Record, clock_of, missing_device_reason
from ticktree.run.reading.table import Footprint, NodeRow, Pairs, footprints_of, node_table

# As plain numbers: combining members of an enumeration takes longer than the rest of a node's record.
_NS, _ROOT, _PHASED = int(NodeFlag.NS), int(NodeFlag.ROOT), int(NodeFlag.PHASED)
_LOOP = int(NodeFlag.LOOP)
_MANY_SITES, _DEVICE, _WAIT = int(NodeFlag.MANY_SITES), int(NodeFlag.DEVICE), int(NodeFlag.WAIT)
_NEVER = (1 << 64) - 1
WIDEST_SHIFT = 48
_OTHER_SITES = CallSite("", 0, "")


def is_warming_up(loop: Record) -> bool:
    """Return whether all ticks of a loop were set aside as warm-up: then no others are known.

    A loop with a rate does not keep the misses of these ticks; there they stay warm-up, so that no miss is invented.
    """
    return 0 < loop.ticks <= loop.warmup_ticks and not loop.hz


class PhaseCalls(NamedTuple):
    """Completed calls of one phase, as in `Stats`, and the number of calls in their histogram."""

    completed: int
    sum_ns: int
    min_ns: int | None
    max_ns: int | None
    histogram_count: int

    def merge(self, other: PhaseCalls) -> PhaseCalls:
        """Return the calls of both phases as one phase."""
        if self.min_ns is None or self.max_ns is None or other.min_ns is None or other.max_ns is None:
            return other if self.min_ns is None else self
        return PhaseCalls(
            self.completed + other.completed,
            self.sum_ns + other.sum_ns,
            min(self.min_ns, other.min_ns),
            max(self.max_ns, other.max_ns),
            self.histogram_count + other.histogram_count,
        )

    def is_valid(self) -> bool:
        """Return whether the numbers are valid by the rules of `Stats.problems`."""
        if self.min_ns is None or self.max_ns is None:
            return self.completed == 0
        return (
            self.histogram_count == self.completed
            and 0 <= self.min_ns <= self.max_ns
            and self.completed * (self.min_ns - 1) <= self.sum_ns <= self.completed * (self.max_ns + 1)
        )


_NO_FOOTPRINT = Footprint()
_NO_CALLS = PhaseCalls(0, 0, None, None, 0)


@dataclass(slots=True)
class NodePart:
    """One node's record, with the fields of `Node`; parts of one path merge to one.

    Attributes:
        parent: Index of its parent part; -1 for the root of a tree with an unknown start.
        depth: Number of nodes above it in this file.
        is_root: Whether it is a tree's root, which represents the node in which its thread was started.
        name: Name of the section; "" for a root.
        self_ns, concurrent_ns, recorder_ns, open, call_sites: As in `Node`.
        steady_calls, warm_calls: Completed calls after and during warm-up.
        has_merged_phases: Whether the calls set aside as warm-up count as steady ones because the loop has no others.
        is_in_steady_phase: Whether it is in a loop that has a warm-up and is past it.
        window_counts, window_totals: Its windows.
        windows_known: Whether all its calls are in them.
        footprint: The memory that its calls needed, if fully known.
        total_ns: Self time and the children's in its own tree.
    """

    row: NodeRow
    parent: int
    tree: int
    depth: int
    is_root: bool
    name: str
    self_ns: int
    concurrent_ns: int
    recorder_ns: int
    open: OpenCalls | None
    call_sites: dict[CallSite, int]
    steady_calls: PhaseCalls
    warmup_calls: PhaseCalls
    has_merged_phases: bool
    is_in_steady_phase: bool
    window_counts: Pairs
    window_totals: Pairs
    windows_known: bool
    footprint: Footprint
    total_ns: int = 0

    @property
    def count(self) -> int:
        """Completed calls, warm-up included."""
        return self.steady_calls.completed + self.warmup_calls.completed

    @property
    def is_phased(self) -> bool:
        """Whether its loop has a warm-up."""
        return bool(self.row.flags & _PHASED)

    @property
    def clock(self) -> NodeClock:
        """The clock that measured its time."""
        return clock_of(self.row.flags)

    @property
    def steady(self) -> Stats:
        """Completed calls after warm-up, without their histogram."""
        return Stats(*self.steady_calls[:4])

    @property
    def warmup(self) -> Stats | None:
        """Completed calls during warm-up."""
        return Stats(*self.warmup_calls[:4]) if self.is_phased else None

    @property
    def windows(self) -> Windows:
        """Its calls over the run's time."""
        shift: int = self.row.window_shift
        return Windows(BASE_WIDTH_NS << shift, dict(self.window_counts), dict(self.window_totals))

    @property
    def wait(self) -> bool:
        """Whether the node is a wait."""
        return bool(self.row.flags & _WAIT)

    @property
    def raised(self) -> int:
        """Calls that an exception ended; a record copied during a write may count more than have ended."""
        raised: int = self.row.raised
        return min(raised, self.count)

    @property
    def work(self) -> Work | None:
        """The work that the section declared."""
        row = self.row
        if row.work_bytes or row.work_flops or row.work_items:
            return Work(row.work_bytes, row.work_flops, row.work_items)
        return None

    @property
    def cpu(self) -> Cpu | None:
        """The node's CPU time."""
        row = self.row
        return Cpu(row.cpu_samples, row.cpu_ns, row.cpu_wall) if row.cpu_samples else None

    @property
    def memory(self) -> Memory | None:
        """The node's resident memory; without a footprint, from readings at the begin and end of calls."""
        row = self.row
        if self.footprint.resident is not None or not row.memory_samples:
            return self.footprint.resident
        return Memory(row.memory_samples, row.memory_change, row.memory_peak)

    @property
    def device_memory(self) -> Memory | None:
        """The node's memory on devices."""
        return self.footprint.device

    @property
    def device(self) -> str | None:
        """Why requested device time is missing."""
        return missing_device_reason(self.row.flags)

    def is_valid(self) -> bool:
        """Return whether the fields are valid by the rules of `Node.problems` that the reader does not ensure."""
        if not (self.steady_calls.is_valid() and self.warmup_calls.is_valid()) or self.depth > MAX_DEPTH:
            return False
        if self.warmup_calls.completed and not self.is_phased:  # calls that no phase would count
            return False
        if not self.window_counts:
            return not self.window_totals
        if not self.windows_known:
            return False
        if len(self.window_totals) == len(self.window_counts) == 1:
            return self.window_totals[0][0] == self.window_counts[0][0]
        return dict(self.window_totals).keys() <= dict(self.window_counts).keys()


class PartsReader:
    """Reads the nodes of one image.

    Args:
        accounts: What ending its open calls adds.

    Attributes:
        parts: One per node, parents before their children.
        index: Index of each node's part, by the node's reference.
        torn_nodes: Number of nodes copied during a write whose counts are taken from their histograms.
    """

    def __init__(self, image: Image, clock: Clock, accounts: Accounts) -> None:
        self._image = image
        self._clock = clock
        self._accounts = accounts
        self._table = table = node_table(image)
        self.histograms = table.histograms
        self._names: dict[int, str] = {}
        self.torn_nodes = 0
        self.index = {ref: index for index, ref in enumerate(table.refs)}
        self._footprints = footprints_of(image)
        self.parts: list[NodePart] = []
        self._warming_up = {loop.node for _, loop in image.loops() if is_warming_up(loop)}
        calls_below = self._calls_below()
        for index, ref in enumerate(table.refs):
            self.parts.append(self._part(index, calls_below.get(ref, 0)))
        self._compute_totals()

    def is_torn(self, ref: int, sequence: int) -> bool:
        """Return whether the record at `ref` may contain only part of a call."""
        return bool(sequence & 1) or ref in self._image.torn_refs

    def stats(self, index: int) -> Stats:
        """Return the completed calls of the node at `index` after its warm-up."""
        calls = self.parts[index].steady_calls
        if not calls.completed:
            return Stats()
        histogram = Histogram(self.histograms.buckets(2 * index))
        if self.parts[index].has_merged_phases:
            histogram += Histogram(self.histograms.buckets(2 * index + 1))
        return Stats(calls.completed, calls.sum_ns, calls.min_ns, calls.max_ns, histogram)

    def _calls_below(self) -> dict[int, int]:
        """Return the number of calls of each node's children, whose unmeasured cost is in its self time."""
        calls: dict[int, int] = {}
        for row in self._table.rows:
            if not row.flags & (_ROOT | _NS):
                calls[row.parent] = calls.get(row.parent, 0) + row.stats_count + row.warmup_count
        return calls

    def _part(self, index: int, calls_below: int) -> NodePart:
        row, ref = self._table.rows[index], self._table.refs[index]
        is_root = bool(row.flags & _ROOT)
        parent = self._parent_index(index, row, is_root=is_root)
        is_torn = self.is_torn(ref, row.sequence)
        steady, warm = self._phases(index, row, is_torn=is_torn)
        has_merged_phases, is_in_steady_phase = self._phase_flags(ref, row, parent, is_root=is_root)
        if has_merged_phases:
            row, steady, warm = row._replace(flags=row.flags & ~_PHASED), steady.merge(warm), _NO_CALLS
        count = steady.completed + warm.completed
        self_time = row.own + self._accounts.self_ticks[ref] if ref in self._accounts.self_ticks else row.own
        self_ns = max(0, self._ns(row, self_time))
        counts, totals = self._windows(index, row)
        windows_known = sum([calls for _, calls in counts]) == count
        if is_torn and not windows_known:
            row, counts, totals = row._replace(window_shift=0), [], []
        return NodePart(
            row=row,
            parent=parent,
            tree=row.tree if is_root else self.parts[parent].tree,
            depth=self.parts[parent].depth + (not is_root) if parent >= 0 else 0,
            is_root=is_root,
            name="" if is_root else self._text(row.name),
            self_ns=self_ns,
            concurrent_ns=0,
            recorder_ns=min(self_ns, self._recorder_ns(row, count, calls_below)),
            open=self._open(ref),
            call_sites=self._call_sites(row, count),
            steady_calls=steady,
            warmup_calls=warm,
            has_merged_phases=has_merged_phases,
            is_in_steady_phase=is_in_steady_phase,
            window_counts=counts,
            window_totals=totals,
            windows_known=windows_known,
            footprint=self._footprints.get(ref, _NO_FOOTPRINT),
        )

    def _parent_index(self, index: int, row: NodeRow, *, is_root: bool) -> int:
        if is_root and not row.parent:
            return -1
        parent = self.index.get(row.parent, index)
        if parent >= index:  # a node is allocated after its parent
            raise self._image.damage_error("a node has no parent")
        return parent

    def _phase_flags(self, ref: int, row: NodeRow, parent: int, *, is_root: bool) -> tuple[bool, bool]:
        """Return whether a node's phases are merged, and whether it is in the steady phase of a loop of this tree."""
        if is_root:
            return False, False
        outer = self.parts[parent]
        if not row.flags & _LOOP:
            return outer.has_merged_phases, outer.is_in_steady_phase
        is_merged = ref in self._warming_up and not outer.is_in_steady_phase
        return is_merged, outer.is_in_steady_phase or (bool(row.flags & _PHASED) and not is_merged)

    def _ns(self, row: NodeRow, amount: int) -> int:
        return amount if row.flags & _NS or not amount else self._clock.ns(amount)

    def _phases(self, index: int, row: NodeRow, *, is_torn: bool) -> tuple[PhaseCalls, PhaseCalls]:
        read = self._repair if is_torn else self._calls
        steady_count, warm_count = self._table.histograms.counts[2 * index : 2 * index + 2]
        return (
            read(row, row.stats_count, row.stats_sum, row.stats_minimum, row.stats_maximum, steady_count),
            read(row, row.warmup_count, row.warmup_sum, row.warmup_minimum, row.warmup_maximum, warm_count),
        )

    def _calls(
        self, row: NodeRow, count: int, total: int, minimum: int, maximum: int, histogram_count: int
    ) -> PhaseCalls:
        if not count or minimum == _NEVER:
            return _NO_CALLS
        if row.flags & _NS:
            return PhaseCalls(count, total, minimum, maximum, histogram_count)
        ns = self._clock.ns
        return PhaseCalls(count, ns(total), ns(minimum), ns(maximum), histogram_count)

    def _repair(
        self, row: NodeRow, count: int, total: int, minimum: int, maximum: int, histogram_count: int
    ) -> PhaseCalls:
        """Return a phase of a node copied during a write, corrected by its histogram."""
        if histogram_count != count and row.sequence & 1:
            self.torn_nodes += 1
        calls = self._calls(row, histogram_count, total, minimum, maximum, histogram_count)
        if calls.min_ns is None or calls.max_ns is None:
            return calls
        high = max(calls.min_ns, calls.max_ns)
        sum_ns = min(max(calls.sum_ns, histogram_count * calls.min_ns), histogram_count * high)
        return calls._replace(sum_ns=sum_ns, max_ns=high)

    def _windows(self, index: int, row: NodeRow) -> tuple[Pairs, Pairs]:
        if row.window_shift > WIDEST_SHIFT:
            raise self._image.damage_error("its windows are wider than any run")
        counts, totals = self._table.window_counts[index], self._table.window_totals[index]
        if row.flags & _NS:
            return counts, totals
        ns = self._clock.ns
        in_ns = [(at, ns(total)) for at, total in totals]
        return counts, [pair for pair in in_ns if pair[1]]

    def _recorder_ns(self, row: NodeRow, count: int, calls_below: int) -> int:
        if row.flags & _NS or not (count or calls_below):
            return 0
        header = self._image.header
        return self._clock.ns(header.inner_cost * count + header.outer_cost * calls_below) >> 8

    def _call_sites(self, row: NodeRow, count: int) -> dict[CallSite, int]:
        if not row.site_file or not count:
            return {}
        site = CallSite(self._text(row.site_file), row.site_line, self._text(row.site_function))
        # The record keeps the first site, and whether there were others: an empty site represents them.
        return {site: count, _OTHER_SITES: 1} if row.flags & _MANY_SITES else {site: count}

    def _open(self, ref: int) -> OpenCalls | None:
        ages = self._accounts.ages.get(ref)
        return OpenCalls(len(ages), max(0, self._clock.ns(max(ages)))) if ages else None

    def _text(self, ref: int) -> str:
        if ref not in self._names:
            self._names[ref] = self._image.text(ref)
        return self._names[ref]

    def _compute_totals(self) -> None:
        """Compute totals from the leaves up, and their concurrent parts.

        A total that is entirely concurrent in ticks is so in nanoseconds, too, although each self time is rounded:
        otherwise a thread's nodes would give their parents a few nanoseconds that belong to no worker.
        """
        concurrent = self._accounts.concurrent
        refs = self._table.refs
        totals = [
            part.row.own + self._accounts.self_ticks.get(ref, 0)
            for ref, part in zip(refs, self.parts, strict=True)
        ]
        for part in self.parts:
            part.total_ns = part.self_ns
        for index in range(len(self.parts) - 1, -1, -1):
            part = self.parts[index]
            if part.is_root:
                continue
            overlap = part.row.concurrent + concurrent.get(refs[index], 0)
            part.concurrent_ns = part.total_ns if totals[index] == overlap else self._ns(part.row, overlap)
            totals[part.parent] += totals[index] - overlap
            self.parts[part.parent].total_ns += part.total_ns - part.concurrent_ns
