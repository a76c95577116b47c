"""Notes: what is known about a node besides its times, and how a loop held its rate, each in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.machine import Ceilings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.recursion import Recursion
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Memory, Node, Profile, Work
from ticktree.profile.measures import HOST, rates

# The names of children of a loop's node: the sleep that holds the rate, and the ages that `origin` records.
SLEEP = "sleep"
AGE = "sensor to action"
# With fewer values, p99 is the maximum.
MIN_P99_VALUES = 100
# Waits other than the sleep are mentioned from this share of the loop's time.
MIN_WAIT_SHARE = 0.005


def pace(profile: Profile, loop: Loop) -> list[list[str]]:
    """Return how `loop` held its rate, as lines of pieces; lines without any measurement are left out."""
    node = profile.root.find(loop.path)
    age_nodes = ages(node) if node is not None else ()
    lines = [list(_misses(loop)), list(_busy(loop, node)), *(list(_age(age)) for age in age_nodes)]
    return [line for line in lines if line]


def _misses(loop: Loop) -> Iterator[str]:
    lateness = loop.lateness
    if lateness is not None and lateness.mean_ns is not None:
        median_ns = lateness.quantile_ns(0.5)
        if lateness.count == 1:
            yield f"when late, by {formatting.time(lateness.max_ns)}"
        elif median_ns is None:
            yield f"when late, by {formatting.time(lateness.mean_ns)} on average"
            yield f"{formatting.time(lateness.max_ns)} at most"
        else:
            p99_ns = lateness.quantile_ns(0.99) if lateness.count >= MIN_P99_VALUES else None
            yield f"when late, by {formatting.time(median_ns)} p50"
            yield from _tail(p99_ns, lateness.max_ns)
    if loop.longest_miss_run > 1:
        yield f"up to {formatting.count(loop.longest_miss_run)} missed in a row"
    if loop.incomplete:
        yield f"{formatting.count(loop.incomplete)} cut short"


def _busy(loop: Loop, node: Node | None) -> Iterator[str]:
    """Yield the busy time, slack and waits of a tick, for the ticks that the loop's percentiles are of."""
    sum_ns, waited_ns = loop.stats.sum_ns, loop.waited_ns
    if waited_ns and sum_ns:
        busy_per_tick_ns = (sum_ns - waited_ns) // loop.stats.count
        busy_text = f"{formatting.time(busy_per_tick_ns)} busy per tick"
        share = formatting.share(busy_per_tick_ns / loop.budget_ns) if loop.budget_ns else ""
        yield f"{busy_text}, {share} of the budget" if share else busy_text
    sleep = node.children.get(SLEEP) if node is not None else None
    slept_ns = sleep.steady.sum_ns if sleep is not None and sleep.wait else 0
    if slept_ns and sum_ns:
        yield f"slack {formatting.share(slept_ns / sum_ns)}"
    if waited_ns and sum_ns and waited_ns - slept_ns >= MIN_WAIT_SHARE * sum_ns:
        yield f"{'other waits' if slept_ns else 'waits'} {formatting.share((waited_ns - slept_ns) / sum_ns)}"
    if loop.jitter is not None and loop.jitter.mean_ns is not None:
        yield f"jitter {formatting.time(loop.jitter.mean_ns)}"


def is_age(node: Node) -> bool:
    """Return whether a node holds the age of the data that ticks act on: it is no part of a tick and may be longer."""
    return node.name == AGE or node.name.startswith(f"{AGE}: ")


def ages(node: Node) -> list[Node]:
    """Return the children of a loop's node that hold the age of the data that its steady ticks act on."""
    age_nodes = [child for child in node.children.values() if is_age(child) and child.steady.count]
    return sorted(age_nodes, key=lambda child: child.name)


def _age(age: Node) -> Iterator[str]:
    yield f"{visible(age.name)} {formatting.time(age.steady.p50_ns)} p50"
    yield from _tail(age.steady.p99_ns if age.steady.count >= MIN_P99_VALUES else None, age.steady.max_ns)


def _tail(p99_ns: int | None, max_ns: int | None) -> Iterator[str]:
    if p99_ns is not None:
        yield f"{formatting.time(p99_ns)} p99"
    yield f"{formatting.time(max_ns)} at most"


def notes_of(
    node: Node, options: ViewOptions, ceilings: Ceilings | None = None, *, details: bool = False
) -> tuple[str, ...]:
    """Return the notes on `node`: first what changes the meaning of its numbers, then what adds to them."""
    return tuple(_notes(node, options, ceilings, details=details or options.all))


def _notes(node: Node, options: ViewOptions, ceilings: Ceilings | None, *, details: bool) -> Iterator[str]:
    if node.open is not None:
        oldest = "for" if node.open.count == 1 else "the oldest for"
        yield f"{formatting.count(node.open.count)} still open, {oldest} {formatting.time(node.open.age_ns)}"
    yield from notes_on_calls(node)
    if details:
        yield from _details(node, ceilings or Ceilings())
    if options.call_sites:
        yield from _call_sites(node)


def _details(node: Node, ceilings: Ceilings) -> Iterator[str]:
    if node.total_ns > 0 and any(child.concurrent_ns for child in _on_the_host(node)):
        yield _parallel(node)
    if node.work is not None:
        yield from _work(node.work, node, ceilings)
    if node.cpu is not None and node.cpu.wall_ns > 0:
        cpu_share = formatting.share(node.cpu.cpu_ns / node.cpu.wall_ns)
        yield f"CPU {cpu_share} of {formatting.count(node.cpu.samples)} calls"
    for memory in filter(None, (node.memory, node.device_memory)):
        yield from _memory(memory, node)
    if node.device is not None:
        yield f"device time unsupported: {visible(node.device)}"


def notes_on_calls(node: Node) -> Iterator[str]:
    """Yield notes on a row's calls if its time is not that of all of them."""
    if node.warmup is not None and node.warmup.count and not node.steady.count:
        suffix = " each" if node.warmup.count > 1 else ""
        calls = formatting.counted(node.warmup.count, "call")
        yield f"{calls} in the warm-up, {formatting.time(node.warmup.mean_ns)}{suffix}"
    if isinstance(node, Recursion):
        if node.levels > 1:
            yield f"recursive: {formatting.count(node.levels)} levels, {formatting.counted(node.entered, 'call')}"
        if node.is_part:
            yield "without the recursive calls"


def _on_the_host(node: Node) -> list[Node]:
    """Return the children on the host's clock: devices and other programs have their own clocks."""
    return [child for child in node.children.values() if child.clock == HOST and not is_age(child)]


def mark_of(node: Node) -> str:
    """Return the mark of a node whose kind changes what its numbers mean; "" for others."""
    if node.wait:
        return "wait"
    return f"{node.clock} clock" if node.clock != HOST else "parallel" if node.concurrent_ns else ""


def share_of(node: Node, parent: Node) -> float | None:
    """Return the share of `node` in its parent's time; None if that is meaningless."""
    # The work of a device or another program may continue long after the call that requested it.
    is_within = node.clock == HOST or node.total_ns <= parent.total_ns
    return node.total_ns / parent.total_ns if is_within and parent.total_ns > 0 else None


def outlived(node: Node) -> bool:
    """Return whether a node's concurrent time is longer than its threads can have spent in it: they outlived it."""
    children = [child for child in _on_the_host(node) if child.concurrent_ns]
    threads = {thread for child in children for thread in child.by_thread}
    return bool(threads) and sum(child.concurrent_ns for child in children) > len(threads) * node.total_ns


def _parallel(node: Node) -> str:
    concurrent_ns = sum(child.concurrent_ns for child in _on_the_host(node))
    if outlived(node):
        mean, per_call = formatting.time(concurrent_ns // max(1, node.count)), " per call" * (node.count > 1)
        return f"{mean} concurrent{per_call}, partly after its end"
    return f"{formatting.factor(1 + concurrent_ns / node.total_ns)} parallel"


def _work(work: Work, node: Node, ceilings: Ceilings) -> Iterator[str]:
    """Yield the work of one call and its rate over all calls, each rate with the machine's ceiling."""
    calls = node.count or 1
    rate = rates(work, node.total_ns)
    if work.bytes:
        ceiling = _ceiling("memcpy here", rate.bytes_per_s, ceilings.memcpy_bytes_per_s, "B/s")
        yield f"{formatting.size(work.bytes / calls)}{_rate_text(rate.bytes_per_s, 'B/s')}{ceiling}"
    if work.flops:
        # A computed ceiling is a bound for the rules that no program reaches.
        flops_per_s = ceilings.flops_per_s if ceilings.is_measured else None
        ceiling = _ceiling("here", rate.flops_per_s, flops_per_s, "FLOP/s")
        yield f"{formatting.scaled(work.flops / calls, 'FLOP')}{_rate_text(rate.flops_per_s, 'FLOP/s')}{ceiling}"
    if work.items:
        item_time = formatting.time(rate.ns_per_item)
        yield f"{formatting.reading(work.items / calls)} items{_rate_text(rate.items_per_s, '/s')}, {item_time} each"


def _rate_text(rate: float | None, unit: str) -> str:
    return "" if rate is None else f" at {formatting.scaled(rate, unit)}"


def _ceiling(label: str, rate: float | None, ceiling: float | None, unit: str) -> str:
    """Return the ceiling in brackets, with its unit if that is not the rate's; "" if the ceiling is unknown."""
    if rate is None or ceiling is None:
        return ""
    number, its_unit = formatting.scaled(ceiling, unit).split(" ", 1)
    is_same = formatting.scaled(rate, unit).endswith(f" {its_unit}")
    return f" ({label}: {number})" if is_same else f" ({label}: {number} {its_unit})"


def _memory(memory: Memory, node: Node) -> Iterator[str]:
    label = " ".join([*map(visible, sorted(memory.devices)), "memory"])
    # If it is not exact, memory that a call both allocated and freed is not counted.
    peak, prefix = ("peak", "up to ") if memory.is_exact else ("peak at least", "")
    peak = f"{label} {peak} {formatting.size(memory.peak_bytes)}"
    if memory.growth_bytes is not None:
        peak += f", {prefix}+{formatting.size(memory.growth_bytes)} in a call"
    yield peak
    sign = "+" if memory.change_bytes >= 0 else ""
    part = f"{formatting.count(memory.samples)} of " if memory.samples < node.count else ""
    calls = formatting.counted(node.count if part else memory.samples, "call")
    yield f"{label} {sign}{formatting.size(memory.change_bytes)} over {part}{calls}"


def _call_sites(node: Node) -> Iterator[str]:
    """Yield the call sites of the node, the most frequent first, at most three of them."""
    sites = sorted(node.call_sites.items(), key=lambda entry: (not entry[0].file, -entry[1], entry[0]))
    for site, _ in sites[:3]:  # the recorder counts further call sites without their places
        line = f"{visible(site.file)}:{site.line} {visible(site.function)}"
        yield line if site.file else "and elsewhere"
    if len(sites) > 3:
        yield f"{formatting.count(len(sites) - 3)} more call sites"
