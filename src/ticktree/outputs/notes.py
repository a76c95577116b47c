"""Notes: what is known of a node beside its times, each in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.outputs import formatting
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.visible import visible
from ticktree.profile import CallSite, Cpu, Memory, Node, Open, Work


def notes_of(node: Node, options: ViewOptions) -> tuple[str, ...]:
    """Return the notes on `node`, what changes how its numbers are read before what adds to them."""
    return tuple(_notes(node, options))


def _notes(node: Node, options: ViewOptions) -> Iterator[str]:
    if node.open is not None:
        yield _open(node.open)
    if node.total_ns > 0 and any(child.concurrent_ns for child in node.children.values()):
        yield _parallel(node)
    if node.work is not None:
        yield from _work(node.work, node)
    if node.cpu is not None:
        yield from _cpu(node.cpu)
    if node.memory is not None:
        yield from _memory(node.memory, node)
    if node.device_memory is not None:
        yield from _memory(node.device_memory, node)
    if node.device is not None:
        yield f"device time {visible(node.device)}"
    if options.call_sites:
        yield from _call_sites(node)


def outlived(node: Node) -> bool:
    """Tell whether more ran beside a node than all who ran there could in its time: they went on after its end."""
    below = [child for child in node.children.values() if child.concurrent_ns]
    writers = {writer for child in below for writer in child.by_writer}
    return bool(writers) and sum(child.concurrent_ns for child in below) > len(writers) * node.total_ns


def _parallel(node: Node) -> str:
    concurrent_ns = sum(child.concurrent_ns for child in node.children.values())
    if outlived(node):
        return f"{formatting.time(concurrent_ns)} beside and after it"
    return f"{formatting.significant(1 + concurrent_ns / node.total_ns)} x parallel"


def _open(opened: Open) -> str:
    oldest = "for" if opened.count == 1 else "the oldest for"
    return f"{formatting.count(opened.count)} still open, {oldest} {formatting.time(opened.age_ns)}"


def _work(work: Work, node: Node) -> Iterator[str]:
    """Yield the work of one call and its rate over all of them."""
    calls = node.count or 1
    if work.bytes:
        rate = formatting.rate(work.bytes, node.total_ns, "B")
        yield f"{formatting.size(work.bytes / calls)} at {rate}"
    if work.flops:
        rate = formatting.rate(work.flops, node.total_ns, "FLOP")
        yield f"{formatting.scaled(work.flops / calls, 'FLOP')} at {rate}"
    if work.items:
        each = formatting.time(node.total_ns / work.items)
        yield f"{formatting.reading(work.items / calls)} items, {each} each"


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
