"""The currency of a loop: the unit of its speed and of its savings.

A loop with a target rate holds it or misses ticks: milliseconds of headroom. A loop without a target has a rate: steps
per second, or seconds per step. A function called a few times, and the run, take seconds.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ticktree.analysis.finding import MIN_SAVING_SHARE
from ticktree.analysis.loops import LoopView, Saving
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible

Currency: TypeAlias = Literal["headroom", "rate", "seconds"]

# A section with fewer calls is not a loop, and has no meaningful rate.
MIN_TICKS = 10
# A loop holds its target rate if its rate differs by less.
HELD_SHARE = 0.02
# The ticks of a loop with one of these names have the same name: `iteration` runs at 3.9 iterations/s, not steps/s.
TICK_NOUNS = frozenset({"batch", "iteration", "epoch", "episode", "update", "trial", "step"})


def currency(view: LoopView) -> Currency:
    """Return the currency of `view`."""
    if view.loop is None:
        return "seconds"
    if view.loop.hz or view.slack_ns > 0:
        return "headroom"
    return "rate" if view.loop.ticks >= MIN_TICKS else "seconds"


def loop_title(view: LoopView) -> str:
    """Return the short name of a loop, safe to show, or "the run"."""
    return visible(view.name) if view.loop else "the run"


def noun(view: LoopView) -> str:
    """Return the noun for a loop's ticks: "tick" with a target rate, else the loop's name or "step"."""
    if view.loop is None:
        return "run"
    if currency(view) == "headroom":
        return "tick"
    return _tick_noun(view) or "step"


def _tick_noun(view: LoopView) -> str:
    last = loop_title(view).rpartition(" ")[2].lower()
    return last if last in TICK_NOUNS else ""


def tick_phrase(view: LoopView) -> str:
    """Return the name of one tick of a loop, such as "a step of env", "an iteration"; "the run" for the run."""
    if view.loop is None:
        return loop_title(view)
    name = loop_title(view)
    if _tick_noun(view) != noun(view):
        return f"a {noun(view)} of {name}"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def pace(view: LoopView, run_view: LoopView | None = None) -> str:
    """Return the pace of a loop in its currency, the same in every output.

    Args:
        view: the loop.
        run_view: the same loop in the whole run if `view` is of a part of the run: it determines the currency.
    """
    kind = currency(run_view or view)
    if kind == "seconds":
        return formatting.time(round(view.tick_ns))
    if kind == "rate":
        return formatting.pace(round(view.tick_ns), noun(run_view or view))
    rates, actual_hz = view.loop.hz if view.loop else (), 1e9 / view.tick_ns
    if len(rates) != 1:
        return formatting.hertz(actual_hz)
    (target_hz,) = rates
    if is_apart(run_view or view) or abs(actual_hz - target_hz) <= HELD_SHARE * target_hz:
        return formatting.hertz(target_hz)
    return f"{formatting.significant(actual_hz)} of {formatting.hertz(target_hz)}"


def is_apart(view: LoopView) -> bool:
    """Return whether it is unknown how often a loop with a rate ticked: see `Loop.is_apart`."""
    return view.loop is not None and view.loop.is_apart


def headroom_ns(view: LoopView) -> int | None:
    """Return how much longer a tick could be busy at the loop's target rate; None without a target rate.

    In a loop that lags, waits for other threads count as busy.
    """
    if currency(view) != "headroom":
        return None
    budget_ns = view.loop.budget_ns if view.loop else None
    if budget_ns is None:
        return round(view.slack_ns)
    return max(0, round(budget_ns - (view.needed_ns if view.lags else view.busy_ns)))


def gain(saving: Saving | None, view: LoopView | None) -> str:
    """Return what a loop or the run gains, such as "-39%  1.27 → 0.78 s/step"; "" if that is unknown or nothing.

    Args:
        saving: the saving.
        view: the loop; None for the run.
    """
    if saving is None:
        return ""
    if view is not None and currency(view) == "headroom":
        if not view.misses and saving.limited_by_rate and saving.share < MIN_SAVING_SHARE:
            return f"+{formatting.time(round(saving.headroom_ns))} headroom per tick"
        change = _change(saving, "/tick")
    elif view is not None and currency(view) == "rate":
        change = _rate_change(saving, noun(view))
    else:
        change = _change(saving, "")
    return (
        f"\N{MINUS SIGN}{formatting.share(saving.share)}  {change}"
        if saving.share >= MIN_SAVING_SHARE
        else ""
    )


def _change(saving: Saving, unit: str) -> str:
    return formatting.shorter(saving.tick_ns, saving.tick_ns - saving.ns) + unit


def _rate_change(saving: Saving, unit: str) -> str:
    """Return the rate now and after the saving, both in the unit of the rate now."""
    new_ns = saving.tick_ns - saving.ns
    if saving.tick_ns > 1e9:
        return _change(saving, f"/{unit}")
    times = (saving.tick_ns, new_ns)
    old, new = (formatting.pace(round(ns), unit) if ns >= 1 else "any rate" for ns in times)
    return formatting.change(old, new)
