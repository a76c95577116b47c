"""Checking: what became of every budget of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ticktree.analysis.budgets.baseline import Baseline
from ticktree.analysis.budgets.budget import Budget
from ticktree.analysis.budgets.errors import BudgetError, NotMeasuredError
from ticktree.analysis.budgets.plan import SLOWER, Plan
from ticktree.analysis.budgets.registry import SLOWER as SLOWER_MEASURE
from ticktree.analysis.budgets.result import STATUSES, Result, Status
from ticktree.analysis.budgets.subject import Kind, Subject, Subjects
from ticktree.profile import Profile

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
        raise BudgetError("it is said how much slower anything may be, but there is no baseline")
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
    status: Status = "held" if budget.bound.holds(measured) else "broken"
    note = _thin(budget, subject)
    if budget.measure.is_floor(subject) and budget.bound.most is not None and status == "held":
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
