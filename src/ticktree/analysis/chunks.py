"""Chunks: whether a loop executes actions of which a policy gives several at once, and how many were in hand."""

from __future__ import annotations

from ticktree.analysis.categories import Categories, words
from ticktree.analysis.cycles import Cycle
from ticktree.analysis.kinds import GUIDANCE, PREVIOUS_ACTIONS, QUEUE_MERGE, spots_of
from ticktree.analysis.survey import Survey
from ticktree.profile import Gauge, Profile

_DEPTHS = {"depth", "size", "length", "left", "remaining", "depths"}
_QUEUES = {"queue", "chunk", "actions", "action"}
_EXECUTION = Categories(
    {"execution": ("send action*", "execute action*", "apply action*", "env step", "step env", "robot step")}
)
# An action is executed in every tick; a few may be left out where the queue was empty. Our own choice.
EVERY_TICK_SHARE = 0.5


def executes_chunks(cycle: Cycle, seen: Survey) -> bool:
    """Tell whether `cycle` executes actions, tick by tick, of which a policy gives several at once.

    A policy that is asked in every tick gives no chunks. A loop that only infers may turn as often as it likes: whose
    actions it makes, and how many of them are executed, is then not known here.
    """
    is_chunked = queue_depth(seen.profile) is not None or any(
        spots_of(cycle, kind, seen) for kind in (QUEUE_MERGE, GUIDANCE, PREVIOUS_ACTIONS)
    )
    return is_chunked and _executes(cycle)


def _executes(cycle: Cycle) -> bool:
    if cycle.loop is not None and cycle.loop.hz:
        return True
    calls = [spot.calls for spot in cycle.spots if _EXECUTION.of(spot.name) == "execution"]
    return max(calls, default=0) >= EVERY_TICK_SHARE * cycle.trips > 0


def queue_depth(profile: Profile) -> Gauge | None:
    """Return the gauge of how many actions were still to do; None where there is none, or several might be it."""
    found = [gauge for name, gauge in profile.gauges.items() if _is_depth(set(words(name)))]
    return found[0] if len(found) == 1 else None


def _is_depth(said: set[str]) -> bool:
    return bool(said & _DEPTHS) and bool(said & _QUEUES)
