"""What this machine can do at most, as far as it was measured, and how long ago."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ticktree.cli.ages import ago
from ticktree.machine.ceilings import kept, reckoned
from ticktree.machine.ceilings.carried import can_be
from ticktree.machine.ceilings.fingerprint import fingerprint
from ticktree.machine.ceilings.kept import Kept, NotUsableError
from ticktree.outputs.writing import formatting

_MEASURE = "`ticktree doctor --measure` finds out in a few seconds"
# By name: what it is, and its unit; "" for a cost in nanoseconds.
NAMES = {
    "memcpy_bytes_per_s": ("memcpy, one thread", "B/s"),
    "cache_copy_bytes_per_s": ("memcpy in caches, one thread", "B/s"),
    "flops_per_s_thread": ("float32, one thread", "FLOP/s"),
    "flops_per_s": ("float32, all threads", "FLOP/s"),
    "clock_read_ns": ("reading the clock", ""),
}


def check() -> Iterator[str]:
    """Yield the ceilings that are kept of this machine, or why there are none."""
    machine = fingerprint()
    try:
        found = kept.load(machine)
    except NotUsableError as error:
        yield f"{error}; it is ignored. {_MEASURE}."
        found = None
    else:
        if found is None:
            yield f"Not measured: {_MEASURE}.{_others(kept.of_others(machine))}"
    if found is not None:
        yield f"{'; '.join(_said(found))}."
        yield f"Measured {ago(time.time() - found.measured_wall_s)}: {best_of(found)}."
    yield from unusable(found)


def amount(name: str, value: float) -> str:
    """Return a ceiling with its unit."""
    unit = NAMES[name][1]
    return formatting.scaled(value, unit) if unit else formatting.time(value)


def best_of(found: Kept) -> str:
    """Return how many measurements it is the best of."""
    return "once" if found.measurements == 1 else f"the best of {formatting.count(found.measurements)}"


def unusable(found: Kept | None) -> Iterator[str]:
    """Yield what cannot be judged by what was `found`, and by what it is judged instead."""
    bound = reckoned.flops_per_s()
    flops = found.ceilings.get("flops_per_s") if found else None
    if bound is None or can_be(flops, bound):
        return
    if flops is not None:
        yield "numpy's library multiplies so slowly that it says nothing of the processor."
    yield (
        f"FLOP rates are called impossible above {formatting.scaled(bound, 'FLOP/s')}, which is reckoned "
        "from the processor's width, cores and the fastest clock there is."
    )


def _said(found: Kept) -> Iterator[str]:
    for name, (what, _) in NAMES.items():
        if name in found.ceilings:
            yield f"{what}: {amount(name, found.ceilings[name])}"


def _others(count: int) -> str:
    return f" What is kept is of {formatting.counted(count, 'other machine')}." if count else ""
