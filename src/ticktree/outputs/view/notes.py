"""Notes: what is known of a node besides its times, and how a loop kept its rate, each in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.machine import Ceilings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import Recursion
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Memory, Node, Profile, Work
from ticktree.profile.measures import HOST, rates

# The sleep by which a loop holds its rate, and the ages that `origin` records: children of the loop's node.
SLEEP = "sleep"
AGE = "sensor to action"
# With fewer values, p99 is the maximum.
MIN_P99_VALUES = 100
# Waits other than the sleep are mentioned from this share of the loop's time.
MIN_WAIT_SHARE = 0.005


def pace(profile: Profile, loop: Loop) -> list[list[str]]:
    """Return how `loop` kept its rate: lines, each a list of pieces; no line where nothing was measured."""
    node = profile.root.find(loop.path)
    found = ages(node) if node is not None else ()
    lines = [list(_misses(loop)), list(_busy(loop, node)), *(list(_age(age)) for age in found)]
    return [line for line in lines if line]


def _misses(loop: Loop) -> Iterator[str]:
    late = loop.lateness
    if late is not None and late.mean_ns is not None:
        median_ns = late.quantile_ns(0.5)
        if late.count == 1:
            yield f"when late, by {formatting.time(late.max_ns)}"
        elif median_ns is None:
            yield f"when late, by {formatting.time(late.mean_ns)} on average"
            yield f"{formatting.time(late.max_ns)} at most"
        else:
            p99_ns = late.quantile_ns(0.99) if late.count >= MIN_P99_VALUES else None
            yield f"when late, by {formatting.time(median_ns)} p50"
            yield from _tail(p99_ns, late.max_ns)
    if loop.longest_miss_run > 1:
        yield f"up to {formatting.count(loop.longest_miss_run)} missed in a row"
    if loop.incomplete:
        yield f"{formatting.count(loop.incomplete)} cut short"


def _busy(loop: Loop, node: Node | None) -> Iterator[str]:
    """Yield the busy time, slack and waits of a tick, for the ticks that the loop's percentiles are of."""
    sum_ns, waited_ns = loop.stats.sum_ns, loop.waited_ns
    if waited_ns and sum_ns:
        busy_per_tick_ns = (sum_ns - waited_ns) // loop.stats.count
        busy = f"{formatting.time(busy_per_tick_ns)} busy per tick"
        share = formatting.share(busy_per_tick_ns / loop.budget_ns) if loop.budget_ns else ""
        yield f"{busy}, {share} of the budget" if share else busy
    sleep = node.children.get(SLEEP) if node is not None else None
    slept_ns = sleep.steady.sum_ns if sleep is not None and sleep.wait else 0
    if slept_ns and sum_ns:
        yield f"slack {formatting.share(slept_ns / sum_ns)}"
    if waited_ns and sum_ns and waited_ns - slept_ns >= MIN_WAIT_SHARE * sum_ns:
        yield f"{'other waits' if slept_ns else 'waits'} {formatting.share((waited_ns - slept_ns) / sum_ns)}"
    if loop.jitter is not None and loop.jitter.mean_ns is not None:
        yield f"jitter {formatting.time(loop.jitter.mean_ns)}"


def is_age(node: Node) -> bool:
    """Return whether a node holds the age of what ticks act on, which is no part of a tick and may be longer."""
    return node.name == AGE or node.name.startswith(f"{AGE}: ")


def ages(node: Node) -> list[Node]:
    """Return the children of a loop's node that hold the age of what its steady ticks act on."""
    found = [child for child in node.children.values() if is_age(child) and child.steady.count]
    return sorted(found, key=lambda child: child.name)


def _age(age: Node) -> Iterator[str]:
    yield f"{visible(age.name)} {formatting.time(age.steady.p50_ns)} p50"
    yield from _tail(age.steady.p99_ns if age.steady.count >= MIN_P99_VALUES else None, age.steady.max_ns)


def _tail(p99_ns: int | None, max_ns: int | None) -> Iterator[str]:
    if p99_ns is not None:
        yield f"{formatting.time(p99_ns)} p99"
    yield f"{formatting.time(max_ns)} at most"


def notes_of(
    node: Node, options: ViewOptions, here: Ceilings | None = None, *, details: bool = False
) -> tuple[str, ...]:
    """Return the notes on `node`: first what changes how its numbers are read, then what adds to them."""
    return tuple(_notes(node, options, here, details=details or options.all))


def _notes(node: Node, options: ViewOptions, here: Ceilings | None, *, details: bool) -> Iterator[str]:
    if node.open is not None:
        oldest = "for" if node.open.count == 1 else "the oldest for"
        yield f"{formatting.count(node.open.count)} still open, {oldest} {formatting.time(node.open.age_ns)}"
    yield from notes_on_calls(node)
    if details:
        yield from _details(node, here or Ceilings())
    if options.call_sites:
        yield from _call_sites(node)


def _details(node: Node, here: Ceilings) -> Iterator[str]:
    if node.total_ns > 0 and any(child.concurrent_ns for child in _on_the_host(node)):
        yield _parallel(node)
    if node.work is not None:
        yield from _work(node.work, node, here)
    if node.cpu is not None and node.cpu.wall_ns > 0:
        cpu_share = formatting.share(node.cpu.cpu_ns / node.cpu.wall_ns)
        yield f"CPU {cpu_share} of {formatting.count(node.cpu.samples)} calls"
    for memory in filter(None, (node.memory, node.device_memory)):
        yield from _memory(memory, node)
    if node.device is not None:
        yield f"device time unsupported: {visible(node.device)}"


def notes_on_calls(node: Node) -> Iterator[str]:
    """Yield notes on a row's calls where they are not the calls that its time is of."""
    if node.warmup is not None and node.warmup.count and not node.steady.count:
        each = " each" if node.warmup.count > 1 else ""
        calls = formatting.counted(node.warmup.count, "call")
        yield f"{calls} in the warm-up, {formatting.time(node.warmup.mean_ns)}{each}"
    if isinstance(node, Recursion):
        if node.levels > 1:
            yield f"recursive: {formatting.count(node.levels)} levels, {formatting.counted(node.entered, 'call')}"
        if node.is_part:
            yield "without the recursive calls"


def _on_the_host(node: Node) -> list[Node]:
    """Return the children on the host's clock: devices and other programs have clocks of their own."""
    return [child for child in node.children.values() if child.clock == HOST and not is_age(child)]


def mark_of(node: Node) -> str:
    """Return the mark of a node whose kind changes what its numbers mean; "" for others."""
    if node.wait:
        return "wait"
    return f"{node.clock} clock" if node.clock != HOST else "parallel" if node.concurrent_ns else ""


def share_of(node: Node, parent: Node) -> float | None:
    """Return what share of the parent's time `node` is; None where that has no meaning."""
    # What a device or another program did may continue long after the call that requested it.
    is_within = node.clock == HOST or node.total_ns <= parent.total_ns
    return node.total_ns / parent.total_ns if is_within and parent.total_ns > 0 else None


def outlived(node: Node) -> bool:
    """Return whether a node's concurrent time is longer than its writers could spend in it: they outlived it."""
    below = [child for child in _on_the_host(node) if child.concurrent_ns]
    writers = {writer for child in below for writer in child.by_writer}
    return bool(writers) and sum(child.concurrent_ns for child in below) > len(writers) * node.total_ns


def _parallel(node: Node) -> str:
    concurrent_ns = sum(child.concurrent_ns for child in _on_the_host(node))
    if outlived(node):
        each, per_call = (concurrent_ns // node.count, " per call") if node.count > 1 else (concurrent_ns, "")
        return f"{formatting.time(each)} concurrent{per_call}, partly after its end"
    return f"{formatting.factor(1 + concurrent_ns / node.total_ns)} parallel"


def _work(work: Work, node: Node, here: Ceilings) -> Iterator[str]:
    """Yield the work of one call and its rate over all calls, each rate with the machine's ceiling."""
    calls = node.count or 1
    rate = rates(work, node.total_ns)
    if work.bytes:
        ceiling = _ceiling("memcpy here", rate.bytes_per_s, here.memcpy_bytes_per_s, "B/s")
        yield f"{formatting.size(work.bytes / calls)}{_at(rate.bytes_per_s, 'B/s')}{ceiling}"
    if work.flops:
        # A computed ceiling is a bound for the rules, which no program reaches.
        flops_per_s = here.flops_per_s if here.is_measured else None
        ceiling = _ceiling("here", rate.flops_per_s, flops_per_s, "FLOP/s")
        yield f"{formatting.scaled(work.flops / calls, 'FLOP')}{_at(rate.flops_per_s, 'FLOP/s')}{ceiling}"
    if work.items:
        each = formatting.time(rate.ns_per_item)
        yield f"{formatting.reading(work.items / calls)} items{_at(rate.items_per_s, '/s')}, {each} each"


def _at(rate: float | None, unit: str) -> str:
    return "" if rate is None else f" at {formatting.scaled(rate, unit)}"


def _ceiling(what: str, rate: float | None, ceiling: float | None, unit: str) -> str:
    """Return the ceiling in brackets, with its unit if that is not the rate's; "" if the ceiling is unknown."""
    if rate is None or ceiling is None:
        return ""
    number, its_unit = formatting.scaled(ceiling, unit).split(" ", 1)
    is_same = formatting.scaled(rate, unit).endswith(f" {its_unit}")
    return f" ({what}: {number})" if is_same else f" ({what}: {number} {its_unit})"


def _memory(memory: Memory, node: Node) -> Iterator[str]:
    whose = " ".join([*map(visible, sorted(memory.devices)), "memory"])
    # If it is not exact, memory that a call both allocated and freed is not counted.
    peak, most = ("peak", "up to ") if memory.is_exact else ("peak at least", "")
    peak = f"{whose} {peak} {formatting.size(memory.peak_bytes)}"
    if memory.growth_bytes is not None:
        peak += f", {most}+{formatting.size(memory.growth_bytes)} in a call"
    yield peak
    sign = "+" if memory.change_bytes >= 0 else ""
    part = f"{formatting.count(memory.samples)} of " if memory.samples < node.count else ""
    of = formatting.counted(node.count if part else memory.samples, "call")
    yield f"{whose} {sign}{formatting.size(memory.change_bytes)} over {part}{of}"


def _call_sites(node: Node) -> Iterator[str]:
    """Yield the lines that entered the node, the most frequent first, at most three of them."""
    sites = sorted(node.call_sites.items(), key=lambda entry: (not entry[0].file, -entry[1], entry[0]))
    for site, _ in sites[:3]:  # the recorder counts further call sites without their places
        place = f"{visible(site.file)}:{site.line} {visible(site.function)}"
        yield place if site.file else "and elsewhere"
    if len(sites) > 3:
        yield f"{formatting.count(len(sites) - 3)} more call sites"
