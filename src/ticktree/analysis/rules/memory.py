"""Rules about memory: sections that need much of it, growth, fresh memory in each tick, garbage collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Claim, Finding, Kind
from ticktree.analysis.loops import MIN_TICKS, NS_PER_SECOND, PRECISE_SHARE, LoopView, SectionView
from ticktree.analysis.rules import Facts, finding
from ticktree.analysis.sampled import dominant_line
from ticktree.analysis.tick_causes import FAULT_NS, usual_per_tick
from ticktree.profile import Gauge, Loop, Memory, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.machine import FAULTS, GROWTH, HUGE_PAGES, RESIDENT, SYSTEM, USED_CORES

PAGE_BYTES = 4096
HUGE_PAGE_BYTES = 1 << 21
# The cost of the first access to a huge page: 64 MiB were filled in 2.7 to 3.3 ms if used before and in 9.5 to 21.5 ms
# if fresh, in 31 huge pages, here on a virtual machine: 219 to 588 µs per page, of which this is the lower end.
HUGE_FAULT_NS = 220_000
# A megabyte per tick: any program allocates and frees less than that. Our own choice.
MIN_FAULTS = 256
# The faults must cost a twentieth of the tick, because their cost is estimated, not measured. Our own choice.
MIN_FAULTS_SHARE = 0.05
# In a run without ticks, whose start-up counts too, the cost is less certain. Our own choice.
MIN_FAULTS_SHARE_OF_RUN = 0.2
# A section is named if it declares this share of the fresh memory as work. Our own choice.
NAMED_SHARE = 0.5
# Memory is kept if the run grows by this share of it. Our own choice.
GROWN_SHARE = 0.5

# Half a minute of readings, and memory grew in three of four of them: a buffer that is filled once, or freed, does not
# reach that. All our own choice.
MIN_READINGS = 30
RISING_SHARE = 0.75
# A run that would fill the machine's memory within an hour fails long before a training run is over: fewer readings
# are enough for that. Our own choice.
FULL_SOON_S = 3600
MIN_READINGS_SOON = 4
# In the second half of the run, memory grows at no less than this share of the usual pace. Our own choice.
LATER_SHARE = 0.5
# Total growth, also as a share of the memory at the end, when the run still has nearly all that it ever had.
MIN_GROWTH_BYTES = 100_000_000
MIN_GROWTH_SHARE = 0.1
KEPT_SHARE = 0.99
# The most that may be freed in any one second, as a share of the growth.
MAX_DROP_SHARE = 0.1

# Of the ticks' time. From about here on, half of the programs that mind pauses at all mind them; the fix is one line.
MIN_GC_SHARE = 0.02
# In a run without ticks, imports alone may take a few seconds with many collections. Our own choice.
MIN_GC_SHARE_OF_RUN = 0.1
# The share of import time that collections take: of torch's, 10% on an idle machine, 27% on a busy one. There is
# nothing to freeze before imports end.
GC_SHARE_OF_IMPORTS = 0.3
# The collector caused a worst tick if its pause explains this share of the tick's time beyond the median.
EXPLAINS_SHARE = 0.5
# One of the worst ticks may be chance; this many are a pattern.
MIN_GC_TICKS = 2


class MemoryRule:
    """A call of a section needs much memory.

    Finds each section with a call that needs more than 100 MB of further memory; see docs/rules/memory.md.
    """

    name: ClassVar[str] = "memory"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such section, the one that needs most first."""
        limit_bytes = context.settings.thresholds.memory_bytes
        yield from _large(self.name, context, lambda node: node.memory, limit_bytes)


class GpuMemoryRule:
    """A call of a section needs much of a device's memory.

    Finds each section with a call that needs more than 100 MB of a device's memory; see docs/rules/gpu-memory.md.
    """

    name: ClassVar[str] = "gpu-memory"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such section, the one that needs most first."""
        limit_bytes = context.settings.thresholds.device_memory_bytes
        yield from _large(self.name, context, lambda node: node.device_memory, limit_bytes)


def _large(
    rule: str, context: Context, memory_of: Callable[[Node], Memory | None], limit_bytes: int
) -> Iterator[Finding]:
    """Yield a finding for each node with a call that needed more than the limit of one kind of memory."""

    def needed_bytes(node: Node) -> int:
        memory = memory_of(node)
        return (memory.growth_bytes or 0) if memory is not None else 0

    large = []
    for path, _, node in context.profile.root.walk():
        memory, needed = memory_of(node), needed_bytes(node)
        in_child = max(map(needed_bytes, node.children.values()), default=0)
        if memory is not None and needed > limit_bytes and in_child < PRECISE_SHARE * needed:
            large.append((needed, path, memory))
    for needed, path, memory in sorted(large, key=lambda entry: (-entry[0], entry[1])):
        facts: Facts = {
            "section": path,
            "needed_bytes": needed,
            "peak_bytes": memory.peak_bytes,
            "calls_measured": memory.samples,
            "is_exact": memory.is_exact,
            "devices": ", ".join(sorted(memory.devices)) or None,
        }
        yield finding(rule, path, facts, kind="size")


class MemoryGrowthRule:
    """The run's memory keeps growing.

    Finds a run whose processes take more memory in three of four of its seconds; see docs/rules/memory-growth.md.
    """

    name: ClassVar[str] = "memory-growth"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield one finding if memory grows steadily and is not freed."""
        growth, resident = (context.profile.gauges.get(name) for name in (GROWTH, RESIDENT))
        if growth is None or resident is None:
            return
        full_s = _full_in_s(growth, resident, context.profile)
        view = next(iter(context.main_loops), context.run)
        is_soon = full_s is not None and full_s <= FULL_SOON_S
        # Until the first tick, libraries are imported: on a busy machine for most of a short run. In a run without
        # ticks it is unknown for how long.
        min_readings = MIN_READINGS_SOON if is_soon and view.loop else MIN_READINGS
        if growth.count_since(context.startup_ns or 0) < min_readings or not _is_steady(growth, resident):
            return
        per_s = growth.p50 or 0.0
        facts: Facts = {
            "growth_bytes_per_s": per_s,
            "resident_bytes": resident.last,
            "rising_share": growth.positive.count / growth.count,
            "readings": growth.count,
            "growth_per_tick_bytes": per_s * view.tick_ns / NS_PER_SECOND if view.loop is not None else None,
            "full_in_ns": round(full_s * NS_PER_SECOND) if full_s is not None and is_soon else None,
        }
        kind: Kind = "recommendation" if is_soon else "size"
        yield finding(self.name, view.path, facts, kind=kind, severity="warning" if is_soon else "info")


def _full_in_s(growth: Gauge, resident: Gauge, profile: Profile) -> float | None:
    """Return when the machine's memory would be full at the median pace; None if that is unknown, or never."""
    sizes = [value for value in profile.metadata.get("memory_bytes", ()) if isinstance(value, int)]
    if len(sizes) != 1 or not growth.p50 or growth.p50 <= 0:
        return None
    return max(0.0, sizes[0] - resident.last) / growth.p50


def _is_steady(growth: Gauge, resident: Gauge) -> bool:
    # There is about one reading per second.
    grown_bytes = (growth.p50 or 0.0) * growth.count
    later = growth.windows.later_half()
    return (
        # Growth by imports and by buffers that are filled has stopped by then.
        (not later or median(later) >= LATER_SHARE * (growth.p50 or 0.0))
        and growth.positive.count >= RISING_SHARE * growth.count
        and grown_bytes >= max(MIN_GROWTH_BYTES, MIN_GROWTH_SHARE * resident.last)
        and -growth.min <= MAX_DROP_SHARE * grown_bytes
        and resident.last >= KEPT_SHARE * resident.max
    )


class AllocationRule:
    """Every tick takes fresh memory from the system.

    Finds each loop in which page faults cost a twentieth of a tick, or a run without loops in which they cost a fifth
    of its time; see docs/rules/allocation.md.
    """

    name: ClassVar[str] = "allocation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop whose ticks touch much fresh memory; without loops, for such a run."""
        if not context.repeated:
            yield from _allocation_in_run(self.name, context)
        for view in context.repeated:
            faults = usual_per_tick(view.loop, "minor_faults") if view.loop is not None else None
            if faults is None or view.ticks < MIN_TICKS or faults < MIN_FAULTS:
                continue
            share = view.share(faults * FAULT_NS)
            if share < MIN_FAULTS_SHARE or _keeps(faults * PAGE_BYTES, view.tick_ns, context.profile):
                continue
            facts: Facts = {
                "page_faults_per_tick": faults,
                "fresh_memory_bytes": faults * PAGE_BYTES,
                "estimated_cost_ns": faults * FAULT_NS,
                "estimated_per_fault_ns": FAULT_NS,
                "tick_ns": view.tick_ns,
            }
            section = _likely_section(view, faults)
            if section is not None:
                facts |= {"section": section.path, "section_bytes_per_s": section.bytes_per_s or 0}
            path = section.path if section is not None else view.path
            yield finding(self.name, path, facts, Claim(share, view.path))


def _allocation_in_run(rule: str, context: Context) -> Iterator[Finding]:
    """Yield a finding for a run without ticks that touches fresh memory all the time."""
    gauges = context.profile.gauges
    faults, system, used = (gauges.get(name) for name in (FAULTS, SYSTEM, USED_CORES))
    if faults is None or system is None or used is None or faults.count < MIN_READINGS_SOON:
        return
    per_s, huge_per_s = faults.p50 or 0.0, (gauges[HUGE_PAGES].p50 or 0.0) if HUGE_PAGES in gauges else 0.0
    fresh_bytes, cost = (
        per_s * page + huge_per_s * huge_page
        for page, huge_page in ((PAGE_BYTES, HUGE_PAGE_BYTES), (FAULT_NS, HUGE_FAULT_NS))
    )
    # Huge pages are those of all programs: the cost is at most this program's time in the kernel.
    share = min(cost / NS_PER_SECOND, system.p50 or 0.0) / max(1.0, used.p50 or 0.0)
    if share < MIN_FAULTS_SHARE_OF_RUN or _keeps(fresh_bytes, NS_PER_SECOND, context.profile):
        return
    facts: Facts = {
        "page_faults_per_s": per_s,
        "huge_pages_per_s": huge_per_s,
        "fresh_bytes_per_s": fresh_bytes,
        "estimated_share": share,
        "readings": faults.count,
    }
    samples = context.profile.samples
    line = None if samples is None else dominant_line(samples.by_path().get(paths.ROOT, {}))
    if line is not None:
        facts |= {"function": line.function, "line": line.place}
    yield finding(rule, paths.ROOT, facts, Claim(share, paths.ROOT))


def _keeps(fresh_bytes: float, in_ns: float, profile: Profile) -> bool:
    """Return whether the run keeps most of the fresh memory, as when it fills a buffer: it cannot be reused."""
    growth = profile.gauges.get(GROWTH)
    grown_bytes = 0.0 if growth is None else (growth.p50 or 0.0) * in_ns / NS_PER_SECOND
    return grown_bytes >= GROWN_SHARE * fresh_bytes


def _likely_section(view: LoopView, faults: float) -> SectionView | None:
    """Return the section that probably touches the fresh memory: the slowest that processes that many bytes."""
    enough_bytes = NAMED_SHARE * faults * PAGE_BYTES
    sections = (
        part for part in view.path_sections if (part.bytes_per_call or 0.0) * part.calls >= enough_bytes
    )
    return min(sections, key=lambda section: section.bytes_per_s or 0.0, default=None)


class GarbageCollectionRule:
    """Python's garbage collector stops a loop: often, or when it matters most.

    Finds each loop that the collector stops for long, or in its worst ticks, and a run without loops that it stops
    for long; see docs/rules/garbage-collection.md.
    """

    name: ClassVar[str] = "garbage-collection"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop with pauses of 2% of its ticks or in its worst ticks, and for such a run."""
        share = 0.0 if context.profile.loops else _gc_share_of_run(context.profile)
        saved = share - GC_SHARE_OF_IMPORTS * _import_share(context.profile) if share else 0.0
        if saved >= MIN_GC_SHARE_OF_RUN:
            claim = Claim(saved, paths.ROOT)
            yield finding(self.name, paths.ROOT, {"gc_share": share}, claim)
        for _, loop in sorted(context.profile.loops.items()):
            share, pauses_ns = _gc_share(loop), _pauses_of_worst_ticks(loop)
            if share < MIN_GC_SHARE and len(pauses_ns) < MIN_GC_TICKS:
                continue
            facts: Facts = {"gc_share": share}
            if len(pauses_ns) >= MIN_GC_TICKS:
                facts |= {"of_worst_ticks": len(pauses_ns), "worst_ticks": len(loop.worst)}
            if pauses_ns:
                facts["longest_pause_ns"] = max(pauses_ns)
            yield finding(self.name, loop.path, facts, Claim(share, loop.path))


def _gc_share_of_run(profile: Profile) -> float:
    """Return the share of its life that the run's first process was stopped; 0 if unknown."""
    main_threads = [
        thread for thread in profile.threads.values() if thread.is_main and thread.started_ns is not None
    ]
    first = min(main_threads, key=lambda thread: (thread.started_ns, thread.id), default=None)
    life_ns = 0 if first is None else (first.last_ns or 0) - (first.started_ns or 0)
    return min(1.0, first.gc_ns / life_ns) if first is not None and life_ns > 0 else 0.0


def _import_share(profile: Profile) -> float:
    """Return the share of samples that were taken while the program imported modules; 0 without samples."""
    if profile.samples is None or not profile.samples.count:
        return 0.0
    importing = sum(
        weight.count
        for stack, weight in profile.samples.stacks.items()
        if sum(line.function == "<module>" for line in stack.lines) > 1  # the program itself is a module
    )
    return importing / profile.samples.count


def _gc_share(loop: Loop) -> float:
    """Return the share of the ticks' time that was pauses; 0 if unknown."""
    if loop.causes is None or not loop.stats.sum_ns:
        return 0.0
    return min(1.0, loop.causes.gc_ns / loop.stats.sum_ns)


def _pauses_of_worst_ticks(loop: Loop) -> list[int]:
    """Return the pauses, in nanoseconds, that made ticks the worst."""
    median_ns = loop.stats.p50_ns
    if median_ns is None:
        return []
    return [
        tick.causes["gc_ns"]
        for tick in loop.worst
        if tick.duration_ns > median_ns
        and tick.causes.get("gc_ns", 0) >= EXPLAINS_SHARE * (tick.duration_ns - median_ns)
    ]
