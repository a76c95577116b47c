"""Chunks: whether a loop executes actions of which a policy gives several at once, and how many were in hand."""

from __future__ import annotations

from ticktree.analysis.categories import Categories, words
from ticktree.analysis.loops import LoopView
from ticktree.analysis.rules.starved import is_depth
from ticktree.analysis.section_kinds import GUIDANCE, PREVIOUS_ACTIONS, QUEUE_MERGE, sections_of
from ticktree.analysis.survey import Survey
from ticktree.profile import Gauge, Profile

_EXECUTION = Categories(
    {"execution": ("send action*", "execute action*", "apply action*", "env step", "step env", "robot step")}
)
# An action is executed in every tick; a few may be left out where the queue was empty. Our own choice.
EVERY_TICK_SHARE = 0.5
# A queue is also between a loader and its learner, and a buffer is where experience is kept.
_ACTIONS = frozenset({"action", "actions", "chunk", "chunks"})


def executes_chunks(view: LoopView, seen: Survey) -> bool:
    """Tell whether `view` executes actions, tick by tick, of which a policy gives several at once.

    A policy that is asked in every tick gives no chunks. A loop that only infers may turn as often as it likes: whose
    actions it makes, and how many of them are executed, is then not known here.
    """
    kinds = (QUEUE_MERGE, GUIDANCE, PREVIOUS_ACTIONS)
    is_chunked = _counts_actions(seen.profile) or any(sections_of(view, kind, seen) for kind in kinds)
    return is_chunked and _executes(view)


def _counts_actions(profile: Profile) -> bool:
    return any(
        is_depth(gauge) and not _ACTIONS.isdisjoint(words(gauge.name)) for gauge in profile.gauges.values()
    )


def _executes(view: LoopView) -> bool:
    if view.loop is not None and view.loop.hz:
        return True
    calls = [section.count for section in view.path_sections if _EXECUTION.of(section.name) == "execution"]
    return max(calls, default=0) >= EVERY_TICK_SHARE * view.ticks > 0


def queue_depth(profile: Profile) -> Gauge | None:
    """Return the gauge of how many actions were still to do; None where there is none, or several might be it."""
    found = [gauge for gauge in profile.gauges.values() if is_depth(gauge)]
    return found[0] if len(found) == 1 else None
