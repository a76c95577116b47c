"""Checking: what became of every budget of a plan, also of those against a baseline of earlier runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from ticktree.analysis.budgets.measures import SLOWER_MEASURE
from ticktree.analysis.budgets.plan import SLOWER, Bound, Budget, Plan
from ticktree.analysis.budgets.subjects import BudgetError, Kind, NotMeasuredError, Subject, Subjects
from ticktree.analysis.comparison import ComparisonEntry, Shift, compare
from ticktree.profile import Profile

Status: TypeAlias = Literal["fail", "not measured", "inconclusive", "pass"]

STATUSES: tuple[Status, ...] = ("fail", "not measured", "inconclusive", "pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a budget, at one of the places it is about.

    Attributes:
        budget: which.
        path: of the node or loop, or the gauge's name.
        kind: which of the three that is.
        status: `pass` and `fail` need a number. Without one, it was `not measured`; `inconclusive` where
            the interval of a comparison leaves room for both.
        measured: the number, in the budget's unit.
        note: what must be known to read it, or why there is no number.
        shift: from the baseline, where it was compared with one.
        of_everything: whether the budget is for everything, and not for this subject.
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


# Of what is as fast as ever, a comparison that asks for a shift of nothing could say nothing.
_LEAST_THRESHOLD = 1e-6


class Baseline:
    """Runs to be no slower than.

    Args:
        base: Those runs.
        new: The runs that are checked.
    """

    def __init__(self, base: Sequence[Profile], new: Sequence[Profile]) -> None:
        self._base, self._new = base, new
        # As `compare` has it.
        self.unit: Literal["runs", "blocks"] = "blocks" if 1 in (len(base), len(new)) else "runs"
        self._entries = lru_cache(maxsize=None)(self._compared)

    def result(self, budget: Budget, subject: Subject) -> Result:
        """What became of a limit on how much slower `subject` may be."""
        allowed = budget.bound.most or 0.0
        entry = self._entries(allowed).get((subject.kind, subject.path))
        status, note = _status(entry, allowed)
        shift = entry.shift if entry else None
        return Result(
            budget=budget,
            path=subject.path,
            kind=subject.kind,
            status=status,
            measured=shift.estimate if shift else None,
            note=note,
            shift=shift,
        )

    def everything(self, allowed: float, source: str, but: set[str]) -> Iterator[Result]:
        """What became of the limit on all that both sides have.

        Args:
            allowed: By how much it may be slower.
            source: Where that stands.
            but: Paths that have a limit of their own.
        """
        loops = {path for kind, path in self._entries(allowed) if kind == "loop"}
        for (kind, path), entry in self._entries(allowed).items():
            # A loop's node is the loop: its calls are its ticks.
            if entry.shift is None or path in but or (kind == "node" and path in loops):
                continue
            budget = Budget(path, SLOWER_MEASURE, Bound(most=allowed), "share", source)
            yield replace(self.result(budget, Subject(path, entry.kind)), of_everything=True)

    def unpaired(self, allowed: float) -> tuple[int, int]:
        """How many sections only the baseline has, and how many only the run; the limit does not change that."""
        verdicts = [entry.verdict for (kind, _), entry in self._entries(allowed).items() if kind == "node"]
        return verdicts.count("only in base"), verdicts.count("only in new")

    def _compared(self, allowed: float) -> dict[tuple[str, str], ComparisonEntry]:
        compared = compare(self._base, self._new, threshold=max(allowed, _LEAST_THRESHOLD))
        return {(entry.kind, entry.path): entry for entry in compared.entries}


def _status(entry: ComparisonEntry | None, allowed: float) -> tuple[Status, str]:
    """Broken is what is certainly slower than it may be: its whole interval lies above the limit."""
    if entry is None or entry.verdict == "only in new":
        return "not measured", "the baseline has no call of it after warm-up"
    if entry.shift is None:
        return "not measured", "this run has no call of it after warm-up"
    if entry.verdict == "slower" and entry.shift.low > allowed:
        return "fail", ""
    if entry.shift.high <= allowed:
        return "pass", ""
    if not math.isfinite(entry.shift.high):
        return "inconclusive", "too few values for an interval"
    # The interval alone would do, were it the only one.
    return "inconclusive", "among so many sections it may be chance" if entry.shift.low > allowed else ""


SCHEMA = "ticktree-check/1"

_NOUNS: dict[Kind, str] = {"node": "section", "loop": "loop", "gauge": "gauge"}


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a plan.

    Attributes:
        results: of every budget, in the order of the plan; those of the baseline last.
        runs: how many runs were checked.
        unit: what the intervals of the baseline's shifts rest on; "" where there is no baseline.
        only_in_base: sections that only the baseline has.
        only_in_new: sections that only the run has.
    """

    results: tuple[Result, ...]
    runs: int = 1
    unit: Literal["", "runs", "blocks"] = ""
    only_in_base: int = 0
    only_in_new: int = 0

    def of(self, status: Status) -> list[Result]:
        """The results of this status."""
        return [result for result in self.results if result.status == status]

    def to_dict(self) -> dict[str, Any]:
        """What `check --format json` gives."""
        counts = {status.replace(" ", "_"): len(self.of(status)) for status in STATUSES}
        return {
            "schema": SCHEMA,
            "runs": self.runs,
            "unit": self.unit or None,
            **counts,
            "budgets": [result.to_dict() for result in self.results],
        }


def check(runs: Sequence[Profile], plan: Plan, base: Sequence[Profile] = ()) -> Checked:
    """Check a plan on runs of one program; of several, all their calls count together.

    Args:
        runs: At least one.
        plan: The budgets.
        base: The runs to be no slower than; none where nothing is to be compared.

    Raises:
        BudgetError: A budget is about nothing that is in the runs.
        TicktreeError: One side of the comparison measured nothing.
    """
    if plan.slower is not None and not base:
        raise BudgetError("`slower` needs a baseline, and there is none")
    subjects = Subjects(runs[0].merge(*runs[1:]))
    baseline = Baseline(base, runs) if base else None
    results = [result for budget in plan.budgets for result in _results(budget, subjects, baseline)]
    if baseline is None:
        return Checked(tuple(results), len(runs))
    own = {result.path for result in results if result.budget.measure is SLOWER_MEASURE}
    allowed = SLOWER if plan.slower is None else plan.slower
    results.extend(baseline.everything(allowed, "no slower than the baseline", own))
    return Checked(tuple(results), len(runs), baseline.unit, *baseline.unpaired(allowed))


def _results(budget: Budget, subjects: Subjects, baseline: Baseline | None) -> Iterator[Result]:
    try:
        found = subjects.named(budget.name)
    except BudgetError as error:
        raise BudgetError(f"{budget.source}: {error}") from None
    fitting = [subject for subject in found if subject.kind in budget.measure.kinds]
    if not fitting:
        raise BudgetError(f"{budget.source}: {_unfit(budget, found[0])}")
    for subject in fitting:
        if baseline is not None and budget.measure is SLOWER_MEASURE:
            yield baseline.result(budget, subject)
        else:
            yield _result(budget, subject)


def _result(budget: Budget, subject: Subject) -> Result:
    try:
        measured = budget.measure.take(subject, budget.unit)
    except NotMeasuredError as reason:
        return Result(
            budget=budget, path=subject.path, kind=subject.kind, status="not measured", note=str(reason)
        )
    status: Status = "pass" if budget.bound.holds(measured) else "fail"
    note = _thin(budget, subject)
    if budget.measure.is_floor(subject) and budget.bound.most is not None and status == "pass":
        status, note = "inconclusive", "at least so much: it was looked at only when calls began and ended"
    return Result(
        budget=budget, path=subject.path, kind=subject.kind, status=status, measured=measured, note=note
    )


def _thin(budget: Budget, subject: Subject) -> str:
    """What to know of a percentile of so few calls that it is the longest of them."""
    if budget.measure.quantile is None:
        return ""
    if subject.gauge is not None:
        count = subject.gauge.count
    else:
        stats = subject.loop.stats if subject.loop else subject.node.steady if subject.node else None
        count = stats.count if stats else 0
    thin = count * (1 - budget.measure.quantile) < 1
    what = "largest" if subject.gauge else "longest"
    return f"of {count} the {what}" if thin and count else ""


def _unfit(budget: Budget, subject: Subject) -> str:
    nouns = [_NOUNS[kind] for kind in ("node", "loop", "gauge") if kind in budget.measure.kinds]
    limit = f"a limit on {budget.measure.name!r}" + (" without a unit" if budget.unit == "number" else "")
    return f"{limit} is for a {' or a '.join(nouns)}, and {subject.path!r} is a {_NOUNS[subject.kind]}"
