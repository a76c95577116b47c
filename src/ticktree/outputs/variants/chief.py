"""The one thing to know of a run beside others: how fast it went, and what kept it from going faster."""

from __future__ import annotations

from typing import NamedTuple

from ticktree.analysis.bottlenecks import Bottleneck
from ticktree.analysis.loops import LoopView
from ticktree.analysis.survey import Survey
from ticktree.outputs.view.judged import kind_of

# What a loop could be faster without. Slack is time to spare, and a loop in it is made of sections of its own.
_CAN_BE_FREED = ("work", "wait")


class Chief(NamedTuple):
    """What costs a loop, or the run, most.

    Attributes:
        view: which loop.
        one: the dearest of its bottlenecks; None where nothing could be taken away.
    """

    view: LoopView
    one: Bottleneck | None

    @property
    def name(self) -> str | None:
        """What to call it within the loop."""
        return None if self.one is None else self.view.name_of(self.one.section)


def chief_of_all(seen: Survey) -> Chief | None:
    """Return the same of the loop that matters most; None where nothing was recorded."""
    views = seen.main_loops
    return chief(seen, views[0]) if views else None


def chief(seen: Survey, view: LoopView) -> Chief:
    """Return which of its sections costs a loop most."""
    for one in seen.bottlenecks:
        if one.view is view and one.saving is not None and kind_of(one) in _CAN_BE_FREED:
            return Chief(view, one)
    return Chief(view, None)
