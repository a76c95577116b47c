"""Result: what became of one budget in one run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ticktree.analysis.budgets.budget import Budget
from ticktree.analysis.budgets.subject import Kind
from ticktree.analysis.comparison import Shift

Status: TypeAlias = Literal["broken", "not measured", "inconclusive", "held"]

STATUSES: tuple[Status, ...] = ("broken", "not measured", "inconclusive", "held")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a budget, at one of the places it is about.

    Attributes:
        budget: which.
        path: of the node or loop, or the gauge's name.
        kind: which of the three that is.
        status: `held` and `broken` need a number. Without one, it was `not measured`; `inconclusive` is said where
            the interval of a comparison leaves room for both.
        measured: the number, in the budget's unit.
        note: what must be known to read it, or why there is no number.
        shift: from the baseline, where it was compared with one.
        of_everything: whether nobody asked for this one in particular, but for all there is.
    """

    budget: Budget
    path: str
    kind: Kind
    status: Status
    measured: float | None = None
    note: str = ""
    shift: Shift | None = None
    of_everything: bool = False

    @property
    def margin(self) -> float | None:
        """How far within its limit the number lies, as a part of the limit; None where that says nothing.

        A shift is itself a part of something: a part of that would be read as one.
        """
        if self.measured is None or self.shift is not None:
            return None
        return self.budget.bound.margin(self.measured)

    def to_dict(self) -> dict[str, Any]:
        """The result as `check --format json` gives it; null where there is no number."""
        margin, bound = self.margin, self.budget.bound
        fields: dict[str, Any] = {
            "path": self.path,
            "kind": self.kind,
            "measure": self.budget.measure.name,
            "unit": self.budget.unit,
            "status": self.status,
            "measured": self.measured,
            "at_least": bound.least,
            "at_most": bound.most,
            "margin_percent": None if margin is None else round(100 * margin, 4),
            "note": self.note,
            "source": self.budget.source,
        }
        if self.shift is None:
            return fields
        low, high = (
            round(100 * end, 4) if math.isfinite(self.shift.high) else None
            for end in (self.shift.low, self.shift.high)
        )
        return {**fields, "low_percent": low, "high_percent": high}
