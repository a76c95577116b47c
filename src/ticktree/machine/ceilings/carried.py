"""The ceilings a run carries in its metadata: those kept of its machine, or else what can be reckoned."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.machine.ceilings import kept, processor, reckoned
from ticktree.machine.ceilings.fingerprint import fingerprint

# numpy may come with a library that multiplies a hundred times slower than the processor could, and then what was
# measured says nothing of the machine. Good ones reach a tenth or more of what was reckoned so generously.
LEAST_OF_RECKONED = 1 / 30


def ceiling_facts() -> Iterator[tuple[str, int | float | str]]:
    """Yield the ceilings of this machine as facts about a run, `ceiling.NAME`.

    `ceiling.source` says where those of FLOP/s are from: "measured" or "reckoned". What copies memory, and the clock,
    is there only where it was measured: what a machine's memory can do does not follow from its processor.
    """
    try:
        found = kept.load(fingerprint())
    except kept.NotUsableError:  # `ticktree doctor` says so; a run goes on without
        found = None
    measured = dict(found.ceilings) if found else {}
    bound = reckoned.flops_per_s()
    if not can_be(measured.get("flops_per_s"), bound):
        measured.pop("flops_per_s", None)
        measured.pop("flops_per_s_thread", None)
    if "flops_per_s" in measured:
        yield "ceiling.source", "measured"
    elif bound is not None:
        yield "ceiling.source", "reckoned"
        yield "ceiling.flops_per_s", bound
    if "flops_per_s" in measured or bound is not None:
        yield "ceiling.low_precision_factor", reckoned.low_precision_factor()
    for name, value in sorted(measured.items()):
        yield f"ceiling.{name}", round(value) if value >= 1000 else round(value, 2)
    cache = processor.largest_cache_bytes()
    if cache is not None and "memcpy_bytes_per_s" in measured:
        yield "ceiling.cache_bytes", cache


def can_be(flops_per_s: float | None, bound: float | None) -> bool:
    """Tell whether so many operations a second may be what a machine of that reckoned bound can do."""
    return flops_per_s is not None and (bound is None or flops_per_s >= LEAST_OF_RECKONED * bound)
