"""Notes: what is known of a node beside its times, each in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.machine import Ceilings
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.recursion import Recursion
from ticktree.outputs.view.pace import is_age
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import CallSite, Cpu, Memory, Node, Open, Work
from ticktree.profile.clock import HOST
from ticktree.profile.measures import rates


def notes_of(
    node: Node, options: ViewOptions, here: Ceilings | None = None, *, details: bool = False
) -> tuple[str, ...]:
    """Return the notes on `node`, what changes how its numbers are read before what adds to them.

    Args:
        node: what they are on.
        options: which notes are wanted.
        here: what the run's machine can do; None where that is not known.
        details: whether all is told that was measured, or only what must be known to read its numbers.
    """
    return tuple(_notes(node, options, here, details=details or options.all))


def _notes(node: Node, options: ViewOptions, here: Ceilings | None, *, details: bool) -> Iterator[str]:
    if node.open is not None:
        yield _open(node.open)
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
    if node.cpu is not None:
        yield from _cpu(node.cpu)
    if node.memory is not None:
        yield from _memory(node.memory, node)
    if node.device_memory is not None:
        yield from _memory(node.device_memory, node)
    if node.device is not None:
        yield f"device time unsupported: {visible(node.device)}"


def notes_on_calls(node: Node) -> Iterator[str]:
    """Yield what must be known of the calls that a row is of, where they are not what its time is of."""
    if node.warmup is not None and node.warmup.count and not node.steady.count:
        each = " each" if node.warmup.count > 1 else ""
        calls = formatting.counted(node.warmup.count, "call")
        yield f"{calls} in the warm-up, {formatting.time(node.warmup.mean_ns)}{each}"
    if isinstance(node, Recursion):
        if node.levels > 1:
            yield f"recursive: {formatting.count(node.levels)} levels, {formatting.counted(node.entered, 'call')}"
        if node.is_part:
            yield "without what recurses"


def _on_the_host(node: Node) -> list[Node]:
    """Return the children that ran here: what devices and other programs did is said by their clock."""
    return [child for child in node.children.values() if child.clock == HOST and not is_age(child)]


def mark_of(node: Node) -> str:
    """Return what sort of section `node` is, where that changes what its numbers mean; "" where it does not."""
    if node.wait:
        return "wait"
    return f"{node.clock} clock" if node.clock != HOST else "parallel" if node.concurrent_ns else ""


def share_of(node: Node, parent: Node) -> float | None:
    """Return what part of the parent's time `node` is; None where that has no meaning."""
    # What a device or another program did may go on long after the call that asked for it.
    is_within = node.clock == HOST or node.total_ns <= parent.total_ns
    return node.total_ns / parent.total_ns if is_within and parent.total_ns > 0 else None


def outlived(node: Node) -> bool:
    """Tell whether more ran beside a node than all who ran there could in its time: they went on after its end."""
    below = [child for child in _on_the_host(node) if child.concurrent_ns]
    writers = {writer for child in below for writer in child.by_writer}
    return bool(writers) and sum(child.concurrent_ns for child in below) > len(writers) * node.total_ns


def _parallel(node: Node) -> str:
    concurrent_ns = sum(child.concurrent_ns for child in _on_the_host(node))
    if outlived(node):
        each, per_call = (concurrent_ns // node.count, " per call") if node.count > 1 else (concurrent_ns, "")
        return f"{formatting.time(each)} beside and after it{per_call}"
    return f"{formatting.significant(1 + concurrent_ns / node.total_ns)} x parallel"


def _open(opened: Open) -> str:
    oldest = "for" if opened.count == 1 else "the oldest for"
    return f"{formatting.count(opened.count)} still open, {oldest} {formatting.time(opened.age_ns)}"


def _work(work: Work, node: Node, here: Ceilings) -> Iterator[str]:
    """Yield the work of one call and its rate over all of them, each rate beside what the machine can do."""
    calls = node.count or 1
    rate = rates(work, node.total_ns)
    if work.bytes:
        beside = _beside("memcpy here", rate.bytes_per_s, here.memcpy_bytes_per_s, "B/s")
        yield f"{formatting.size(work.bytes / calls)}{_at(rate.bytes_per_s, 'B/s')}{beside}"
    if work.flops:
        # What was reckoned is a bound for judging, and nothing that anyone could reach.
        ceiling = here.flops_per_s if here.is_measured else None
        beside = _beside("here", rate.flops_per_s, ceiling, "FLOP/s")
        yield f"{formatting.scaled(work.flops / calls, 'FLOP')}{_at(rate.flops_per_s, 'FLOP/s')}{beside}"
    if work.items:
        each = formatting.time(rate.ns_per_item)
        yield f"{formatting.reading(work.items / calls)} items{_at(rate.items_per_s, '/s')}, {each} each"


def _at(rate: float | None, unit: str) -> str:
    return "" if rate is None else f" at {formatting.scaled(rate, unit)}"


def _beside(what: str, rate: float | None, ceiling: float | None, unit: str) -> str:
    """Return the ceiling in brackets, its unit only where it is not the rate's; "" where none is known."""
    if rate is None or ceiling is None:
        return ""
    number, its_unit = formatting.scaled(ceiling, unit).split(" ", 1)
    is_same = formatting.scaled(rate, unit).endswith(f" {its_unit}")
    return f" ({what}: {number})" if is_same else f" ({what}: {number} {its_unit})"


def _cpu(cpu: Cpu) -> Iterator[str]:
    if cpu.wall_ns > 0:
        yield f"CPU {formatting.share(cpu.cpu_ns / cpu.wall_ns)} of {formatting.count(cpu.samples)} calls"


def _memory(memory: Memory, node: Node) -> Iterator[str]:
    whose = " ".join([*map(visible, sorted(memory.devices)), "memory"])
    # Where it is not exact, what came and went inside a call was not seen.
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
    for site, _ in sites[:3]:
        yield _site(site)
    if len(sites) > 3:
        yield f"{formatting.count(len(sites) - 3)} more call sites"


def _site(site: CallSite) -> str:
    if not site.file:  # the recorder knows of others, but not which
        return "and elsewhere"
    return f"{visible(site.file)}:{site.line} {visible(site.function)}"
