"""One memory file's records as parts of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ticktree.profile import (
    CallSite,
    Cpu,
    FirstTicks,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Memory,
    Node,
    Open,
    Profile,
    Stats,
    Windows,
    Work,
    WorstTick,
)
from ticktree.profile.ticks import worst_of
from ticktree.run import layout
from ticktree.run.accounts import leave_virtually
from ticktree.run.branches import Branch
from ticktree.run.clock import Clock
from ticktree.run.image import Image
from ticktree.run.layout import NodeFlag

_NEVER = (1 << 64) - 1
_OCTAVES_OF_FLOATS = range(-1074, 1024)
_WINDOW_NS = 10_000_000
_CAUSES = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
_DEVICE_UNSUPPORTED = "unsupported: this version has no device clock"


class ImageReader:
    """Reads one image.

    Args:
        image: The file.
        run_id: What the profile calls this run.

    Raises:
        DamagedError: From any method, where the file says what cannot be.
    """

    def __init__(self, image: Image, run_id: str) -> None:
        self._image = image
        self._run_id = run_id
        self._clock = Clock(image.header)
        self._nodes = image.nodes()
        self._by_ref = dict(self._nodes)
        self._accounts = leave_virtually(image)
        self._places: dict[int, Branch] = {}
        self._torn = 0
        calls_below = self._calls_below()
        self._parts = {ref: self._part(ref, node, calls_below.get(ref, 0)) for ref, node in self._nodes}

    def grow(self, above: Branch, *, is_child: bool) -> dict[int, Branch]:
        """Adds this file's nodes below a branch.

        Args:
            above: What the process's own root stands for.
            is_child: Whether that is a node of another process. The root's own time is then nobody's, and all
                time of the sections under it is concurrent to the node they hang under.

        Returns:
            Where each node went, by reference.
        """
        self._places = {}
        totals = self._totals() if is_child else {}
        for ref, node in self._nodes:
            place = self._place(ref, node, above)
            part = self._parts[ref]
            if not is_child:
                place.parts.append(replace(part, name=place.name))
            elif not node.flags & NodeFlag.ROOT:
                on_top = bool(self._by_ref[node.parent].flags & NodeFlag.ROOT)
                concurrent_ns = totals[ref] if on_top else part.concurrent_ns
                place.parts.append(replace(part, name=place.name, concurrent_ns=concurrent_ns))
        return self._places

    def _totals(self) -> dict[int, int]:
        totals = {ref: part.own_ns for ref, part in self._parts.items()}
        for ref, node in reversed(self._nodes):
            if node.parent in totals and not node.flags & NodeFlag.ROOT:
                totals[node.parent] += totals[ref] - self._parts[ref].concurrent_ns
        return totals

    def rest(self) -> Profile:
        """Loops, gauges, metadata and losses; after `grow`, which knows where the nodes went."""
        header = self._image.header
        losses = {name: header.losses[at] for at, name in enumerate(layout.LOSSES) if header.losses[at]}
        if self._torn:
            losses["nodes_caught_in_a_write"] = self._torn
        loops: dict[str, Loop] = {}
        for ref, record in self._image.loops():
            loop = self._loop(ref, record)
            loops[loop.path] = loops[loop.path] + loop if loop.path in loops else loop
        gauges = [self._gauge(ref, record) for ref, record in self._image.gauges() if record.count]
        facts: dict[str, frozenset[str | int | float | bool]] = {
            "clock": frozenset({layout.CLOCKS[header.clock_kind]}),
            "times_enabled": frozenset({header.times_enabled}),
        }
        if header.inner_cost or header.outer_cost:
            cost = self._clock.ns(header.inner_cost + header.outer_cost) / 256
            facts["section_cost_ns"] = frozenset({round(cost, 1)})
        return Profile(Node(name="root"), loops, {gauge.name: gauge for gauge in gauges}, facts, losses)

    def _place(self, ref: int, node: layout.Node, above: Branch) -> Branch:
        if node.flags & NodeFlag.ROOT:
            place = self._known_place(node.parent) if node.parent else above
        else:
            place = self._known_place(node.parent).child(self._image.text(node.name))
        self._places[ref] = place
        return place

    def _known_place(self, ref: int) -> Branch:
        if ref not in self._places:  # nodes are laid down after what they hang under
            raise self._image.damaged("a node hangs under none")
        return self._places[ref]

    def _calls_below(self) -> dict[int, int]:
        """How many calls each node's children made: what they cost unseen is in its own time."""
        calls: dict[int, int] = {}
        for _, node in self._nodes:
            if not node.flags & (NodeFlag.ROOT | NodeFlag.NS):
                calls[node.parent] = calls.get(node.parent, 0) + node.stats.count + node.warmup.count
        return calls

    def _part(self, ref: int, node: layout.Node, calls_below: int) -> Node:
        convert = int if node.flags & NodeFlag.NS else self._clock.ns
        torn = self._is_torn(ref, node)
        steady = self._stats(node, node.stats, node.octaves, torn=torn)
        warm = self._stats(node, node.warmup, node.warmup_octaves, torn=torn)
        own_ns = max(0, convert(node.own + self._accounts.own.get(ref, 0)))
        concurrent = node.concurrent + self._accounts.concurrent.get(ref, 0)
        count = steady.count + warm.count
        windows = self._windows(node)
        ages = self._accounts.ages.get(ref)
        return Node(
            name="",
            own_ns=own_ns,
            concurrent_ns=0 if node.flags & NodeFlag.ROOT else convert(concurrent),
            steady=steady,
            warmup=warm if node.flags & NodeFlag.PHASED else None,
            windows=windows if windows.count == count or not torn else Windows(),
            wait=bool(node.flags & NodeFlag.WAIT),
            call_sites=self._call_sites(node, count),
            work=self._work(node),
            cpu=Cpu(node.cpu_samples, node.cpu_ns, node.cpu_wall) if node.cpu_samples else None,
            memory=self._memory(node),
            device=_DEVICE_UNSUPPORTED if node.flags & NodeFlag.DEVICE else None,
            open=Open(len(ages), max(0, self._clock.ns(max(ages)))) if ages else None,
            recorder_ns=min(own_ns, self._recorder_ns(node, count, calls_below)),
            per_run={self._run_id: (count, steady.sum_ns + warm.sum_ns)} if count else {},
        )

    def _recorder_ns(self, node: layout.Node, count: int, calls_below: int) -> int:
        if node.flags & NodeFlag.NS:
            return 0
        header = self._image.header
        return self._clock.ns(header.inner_cost * count + header.outer_cost * calls_below) >> 8

    def _is_torn(self, ref: int, record: layout.Node | layout.Loop | layout.Gauge) -> bool:
        """Whether parts of one call may be there and others not."""
        return bool(record.sequence % 2) or ref in self._image.unsettled

    def _stats(self, node: layout.Node, stats: layout.Stats, octaves: Sequence[int], *, torn: bool) -> Stats:
        """A phase's statistics; those of a node caught in a write are put right by its histogram."""
        convert = int if node.flags & NodeFlag.NS else self._clock.ns
        buckets: dict[int, int] = {}
        for octave, ref in enumerate(octaves):
            if ref:
                counts = enumerate(self._image.octave(ref))
                first = octave * layout.SUB_BUCKETS
                buckets.update({first + sub: count for sub, count in counts if count})
        histogram = Histogram(buckets)
        count = histogram.count if torn else stats.count
        if count != stats.count and node.sequence % 2:
            self._torn += 1
        if not count or stats.minimum == _NEVER:
            return Stats()
        low, high, total = convert(stats.minimum), convert(stats.maximum), convert(stats.sum)
        if torn:
            high = max(low, high)
            total = min(max(total, count * low), count * high)
        return Stats(count, total, low, high, histogram)

    def _windows(self, node: layout.Node) -> Windows:
        convert = int if node.flags & NodeFlag.NS else self._clock.ns
        if node.window_shift > 48:
            raise self._image.damaged("its windows are wider than any run")
        counts, totals = node.windows[0::2], node.windows[1::2]
        return Windows(
            _WINDOW_NS << node.window_shift,
            {at: count for at, count in enumerate(counts) if count},
            {at: convert(total) for at, total in enumerate(totals) if total},
        )

    def _call_sites(self, node: layout.Node, count: int) -> dict[CallSite, int]:
        if not node.site_file or not count:
            return {}
        site = CallSite(
            self._image.text(node.site_file), node.site_line, self._image.text(node.site_function)
        )
        # Past the first only the fact is kept that there were others: an empty place stands for them.
        others = {CallSite("", 0, ""): 1} if node.flags & NodeFlag.MANY_SITES else {}
        return {site: count, **others}

    def _work(self, node: layout.Node) -> Work | None:
        work = Work(node.work_bytes, node.work_flops, node.work_items)
        return None if work == Work() else work

    def _memory(self, node: layout.Node) -> Memory | None:
        if not node.memory_samples:
            return None
        return Memory(node.memory_samples, node.memory_change, node.memory_peak)

    def _loop(self, ref: int, record: layout.Loop) -> Loop:
        part, place = self._parts.get(record.node), self._places.get(record.node)
        if part is None or place is None:
            raise self._image.damaged("a loop has no node")
        convert = self._clock.ns
        ticks, missed, longest = part.count, record.missed, record.longest_miss_run
        worst = list(record.worst[: record.worst_count])
        if self._is_torn(ref, record):
            missed = min(missed, ticks)
            longest = min(longest, missed)
            worst = [tick for tick in worst if self._names_nodes(tick)]
        lateness = None
        if record.hz:
            lateness = Lateness(missed, convert(record.late_sum), convert(record.late_maximum))
        return Loop(
            path=place.path,
            ticks=ticks,
            incomplete=record.incomplete,
            hz=frozenset({record.hz, record.other_hz} - {0.0}),
            missed=missed,
            longest_miss_run=longest,
            warmup_ticks=part.warmup.count if part.warmup is not None else 0,
            stats=part.steady,
            lateness=lateness,
            jitter=Jitter(record.jitter_count, convert(record.jitter_sum)) if record.jitter_count else None,
            busy_ns=convert(record.busy),
            first_ticks=self._first_ticks(record),
            worst=worst_of(self._worst(record, tick) for tick in worst),
        )

    def _first_ticks(self, record: layout.Loop) -> FirstTicks | None:
        durations = tuple(self._clock.ns(ticks) for ticks in record.first[: record.first_count])
        return FirstTicks(record.first_wall_ns, self._writer(record.node), durations) if durations else None

    def _names_nodes(self, tick: layout.WorstTick) -> bool:
        return all(row.node in self._places for row in tick.rows[: tick.row_count])

    def _worst(self, record: layout.Loop, tick: layout.WorstTick) -> WorstTick:
        if not self._names_nodes(tick):
            raise self._image.damaged("a tick's breakdown names no node")
        rows = tick.rows[: tick.row_count]
        causes = {"gc_ns": self._clock.ns(tick.gc_ticks)}
        if tick.causes_known:
            causes |= {name: getattr(tick, name) for name in _CAUSES}
        return WorstTick(
            duration_ns=self._clock.ns(tick.duration),
            writer=self._writer(record.node),
            tick=tick.tick,
            started_ns=self._clock.since_began_ns(tick.start),
            breakdown={self._places[row.node].path: self._clock.ns(row.sum) for row in rows},
            causes=causes,
        )

    def _writer(self, ref: int) -> str:
        return f"{self._image.writer}/{self._by_ref[ref].tree}"

    def _gauge(self, ref: int, record: layout.Gauge) -> Gauge:
        buckets: dict[int, dict[int, int]] = {1: {}, -1: {}}
        for octave in record.octaves[: record.octave_count]:
            if octave.sign not in buckets or octave.octave not in _OCTAVES_OF_FLOATS:
                raise self._image.damaged("a gauge's values are none that there are")
            first = octave.octave * layout.SUB_BUCKETS
            for sub, count in enumerate(self._image.octave(octave.counts)):
                if count:
                    buckets[octave.sign][first + sub] = count
        filed = sum(sum(counts.values()) for counts in buckets.values()) + record.zeros
        low, high = record.minimum, record.maximum
        if self._is_torn(ref, record):
            low, high = min(low, record.last), max(high, record.last)
        return Gauge(
            name=self._image.text(record.name),
            last=record.last,
            last_wall_ns=record.last_wall_ns,
            writer=str(self._image.writer),
            count=max(record.count, filed) if self._is_torn(ref, record) else record.count,
            min=low,
            max=high,
            positive=Histogram(buckets[1]),
            negative=Histogram(buckets[-1]),
            zeros=record.zeros,
        )
