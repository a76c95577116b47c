"""Said: a section of a loop, and how fast the loop would be without it, as they stand in a sentence."""

from __future__ import annotations

from ticktree.analysis.bottlenecks.bottleneck import Bottleneck
from ticktree.analysis.loops import LoopView, Saving, SectionView
from ticktree.analysis.wording import duration
from ticktree.profile import path as paths


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
