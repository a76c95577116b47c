"""Wording: figures and names as they stand in a sentence."""

from __future__ import annotations

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


def times(factor: float) -> str:
    """Return how many times, such as "1.9 x"."""
    return f"{factor:.1f} x" if factor < 9.95 else f"{factor:,.0f} x"


def percent(share: float) -> str:
    """Return a part of 1 as a whole percentage."""
    return f"{100 * share:.0f}%"


def last_name(path: str, names: ShortNames | None = None) -> str:
    """Return what a reader knows the node at `path` by.

    Args:
        path: of the node.
        names: what nodes are called for short; None where whoever shows it asks for that (registry.py).
    """
    name = paths.name_of(path)
    return (names.of(name) if names else name) or "no section"


def who(name: str, count: int) -> str:
    """Return what several of one name are called: "4 x actor"; one is just "actor"."""
    return name if count == 1 else f"{count:,} x {name}"


def duration(ns: float) -> str:
    """Return a time with three significant digits, such as "16.6 ms"."""
    for limit, unit_ns, unit in ((999.5, 1, "ns"), (999.5e3, 1e3, "us"), (999.5e6, 1e6, "ms")):
        if ns < limit:
            return f"{_three_digits(ns / unit_ns)} {unit}"
    return f"{_three_digits(ns / 1e9)} s"


def amount(value: float, unit: str) -> str:
    """Return `value` of `unit` with three significant digits and a prefix, such as "44.4 TFLOP/s"."""
    prefixes = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    # At 999.5 three digits round to 1000, which is 1 of the next prefix.
    of, prefix = next((entry for entry in prefixes if value >= 0.9995 * entry[0]), (1.0, ""))
    return f"{_three_digits(value / of)} {prefix}{unit}"


def size(number_of_bytes: float) -> str:
    """Return an amount of memory, such as "37.7 MB" (a megabyte is 1,000,000 bytes)."""
    return amount(number_of_bytes, "B")


def step_name(view: LoopView, section: SectionView) -> str:
    """Return what own time is of: a section, or what of one is in none of those below it."""
    if section.path == paths.ROOT:
        return "outside all sections"
    name = view.name_of(section)
    return f"{name}, outside its sections" if section.has_sections and not section.is_loop else name


def tick_name(view: LoopView) -> str:
    """Return what shares are of: "a tick of train", or "the run"."""
    return f"a tick of {view.name}" if view.loop else "the run"


def gain(view: LoopView, saving: Saving) -> str:
    """Return how fast the loop, or how long the run, would be without something, and is."""
    if view.loop is None:
        return f"the run would take {duration(saving.free_ns)} instead of {duration(saving.needed_ns)}"
    name = view.name
    if saving.hz is None or saving.free_hz is None:
        return f"{name} would have nothing left to do"
    return f"{name} would go from {number(saving.hz)} to {number(saving.free_hz)} Hz"


def of_bottleneck(one: Bottleneck) -> str:
    """Return the name of a bottleneck."""
    return step_name(one.view, one.section)


def number(value: float) -> str:
    """Return a number with three significant digits, and no more decimals than three."""
    digits = 3 if value < 0.9995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"


def _three_digits(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
