"""Said: a step of a loop, and how fast the loop would be without it, as they stand in a sentence."""

from __future__ import annotations

from ticktree.analysis.bottlenecks.bottleneck import Bottleneck, Ceiling
from ticktree.analysis.bottlenecks.steps import Frame, Step
from ticktree.analysis.wording import duration
from ticktree.profile import path as paths


def step_name(frame: Frame, step: Step) -> str:
    """Return what own time is of: a section, or what of one is in none of those below it."""
    if step.path == paths.ROOT:
        return "outside all sections"
    name = frame.name_of(step)
    return f"{name}, outside its sections" if step.has_sections and not step.is_loop else name


def tick_name(frame: Frame) -> str:
    """Return what shares are of: "a tick of train", or "the run"."""
    return f"a tick of {frame.name}" if frame.loop else "the run"


def gain(frame: Frame, ceiling: Ceiling) -> str:
    """Return how fast the loop, or how long the run, would be without something, and is."""
    if frame.loop is None:
        return f"the run would take {duration(ceiling.free_ns)} instead of {duration(ceiling.now_ns)}"
    name = frame.name
    if ceiling.hz is None or ceiling.free_hz is None:
        return f"{name} would have nothing left to do"
    return f"{name} would go from {number(ceiling.hz)} to {number(ceiling.free_hz)} Hz"


def of_bottleneck(one: Bottleneck) -> str:
    """Return the name of a bottleneck."""
    return step_name(one.frame, one.step)


def number(value: float) -> str:
    """Return a number with three significant digits, and no more decimals than three."""
    digits = 3 if value < 0.9995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"
