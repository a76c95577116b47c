"""Check every budget of a plan, including those against a baseline of earlier runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from ticktree.analysis.budgets.measures import (
    SLOWER_MEASURE,
    BudgetError,
    Kind,
    NotMeasuredError,
    Subject,
    Subjects,
)
from ticktree.analysis.budgets.plan import SLOWER, Bound, Budget, Plan, naming
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.entry import ComparisonEntry
from ticktree.analysis.comparison.shift import Shift
from ticktree.profile import Profile

Status: TypeAlias = Literal["fail", "not measured", "inconclusive", "pass"]

STATUSES: tuple[Status, ...] = ("fail", "not measured", "inconclusive", "pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of checking a budget on one subject.

    Attributes:
        budget: the budget.
        path: path of the node or loop, or the gauge's name.
        kind: whether the subject is a node, a loop or a gauge.
        status: `pass` and `fail` need a number. Without one, it is `not measured`; it is `inconclusive` if
            the interval of a comparison allows both.
        measured: the number, in the budget's unit.
        note: what a reader of the number must know, or why there is no number.
        shift: shift from the baseline, if it was compared with one.
        of_everything: whether the budget is for the whole tree, not only for this subject.
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
        """The distance of the number from its limit, as a fraction of the limit; None if that has no meaning.

        A shift is itself a fraction: a fraction of it would be mistaken for the shift.
        """
        if self.measured is None or self.shift is not None:
            return None
        return self.budget.bound.margin(self.measured)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `check --format json` prints it; null where there is no number."""
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


# With a threshold of 0, a comparison could reach no verdict on a section that is exactly as fast as before.
_LEAST_THRESHOLD = 1e-6


class Baseline:
    """The earlier runs that the checked runs must not be slower than."""

    def __init__(self, base: Sequence[Profile], new: Sequence[Profile]) -> None:
        self._base, self._new = base, new
        # The same unit as in `compare`.
        self.unit: Literal["runs", "blocks"] = "blocks" if 1 in (len(base), len(new)) else "runs"
        self._entries = lru_cache(maxsize=None)(self._compare)

    def result(self, budget: Budget, subject: Subject) -> Result:
        """Check a limit on how much slower `subject` may be."""
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

    def tree_results(self, allowed: float, except_paths: set[str]) -> Iterator[Result]:
        """Check the limit on every section and loop of both sides except those with a limit for themselves."""
        loops = {path for kind, path in self._entries(allowed) if kind == "loop"}
        for (kind, path), entry in self._entries(allowed).items():
            # The calls of a loop's node are the loop's ticks: one result is enough.
            if entry.shift is None or path in except_paths or (kind == "node" and path in loops):
                continue
            budget = Budget(path, SLOWER_MEASURE, Bound(most=allowed), "share", "no slower than the baseline")
            yield replace(self.result(budget, Subject(path, entry.kind)), of_everything=True)

    def count_unpaired(self, allowed: float) -> tuple[int, int]:
        """Return how many sections only the baseline has, and how many only the run; independent of the limit."""
        verdicts = [entry.verdict for (kind, _), entry in self._entries(allowed).items() if kind == "node"]
        return verdicts.count("only in base"), verdicts.count("only in new")

    def _compare(self, allowed: float) -> dict[tuple[str, str], ComparisonEntry]:
        comparison = compare(self._base, self._new, threshold=max(allowed, _LEAST_THRESHOLD))
        return {(entry.kind, entry.path): entry for entry in comparison.entries}


def _status(entry: ComparisonEntry | None, allowed: float) -> tuple[Status, str]:
    """Return the status and its note; `fail` only if the whole interval lies above the limit."""
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
    # The interval alone would be enough if this were the only comparison.
    return "inconclusive", "among so many sections it may be chance" if entry.shift.low > allowed else ""


SCHEMA = "ticktree-check/1"

_NOUNS: dict[Kind, str] = {"node": "section", "loop": "loop", "gauge": "gauge"}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The results of checking a plan.

    Attributes:
        results: results of every budget, in the order of the plan; those of the baseline last.
        runs: number of checked runs.
        unit: the values from which the intervals of the baseline's shifts are computed; "" without a baseline.
        only_in_base: number of sections that only the baseline has.
        only_in_new: number of sections that only the run has.
    """

    results: tuple[Result, ...]
    runs: int = 1
    unit: Literal["", "runs", "blocks"] = ""
    only_in_base: int = 0
    only_in_new: int = 0

    def of(self, status: Status) -> list[Result]:
        """Return the results with this status."""
        return [result for result in self.results if result.status == status]

    def to_dict(self) -> dict[str, Any]:
        """Return what `check --format json` prints."""
        counts = {status.replace(" ", "_"): len(self.of(status)) for status in STATUSES}
        return {
            "schema": SCHEMA,
            "runs": self.runs,
            "unit": self.unit or None,
            **counts,
            "budgets": [result.to_dict() for result in self.results],
        }


def check(runs: Sequence[Profile], plan: Plan, base: Sequence[Profile] = ()) -> CheckReport:
    """Check a plan on runs of one program; the calls of several runs count together.

    Args:
        runs: At least one run.
        plan: The budgets.
        base: The runs that these must not be slower than; empty for no comparison.

    Raises:
        BudgetError: No node, loop or gauge of the runs matches a budget.
        TicktreeError: One side of the comparison measured nothing.
    """
    if plan.slower is not None and not base:
        raise BudgetError("`slower` needs a baseline, and there is none")
    subjects = Subjects(runs[0].merge(*runs[1:]))
    baseline = Baseline(base, runs) if base else None
    results = [result for budget in plan.budgets for result in _results(budget, subjects, baseline)]
    if baseline is None:
        return CheckReport(tuple(results), len(runs))
    limited_paths = {result.path for result in results if result.budget.measure is SLOWER_MEASURE}
    allowed = SLOWER if plan.slower is None else plan.slower
    results.extend(baseline.tree_results(allowed, limited_paths))
    return CheckReport(tuple(results), len(runs), baseline.unit, *baseline.count_unpaired(allowed))


def _results(budget: Budget, subjects: Subjects, baseline: Baseline | None) -> Iterator[Result]:
    with naming(budget.source):
        matches = subjects.named(budget.name)
    subjects_of_kind = [subject for subject in matches if subject.kind in budget.measure.kinds]
    if not subjects_of_kind:
        raise BudgetError(f"{budget.source}: {_unfit_reason(budget, matches[0])}")
    for subject in subjects_of_kind:
        if baseline is not None and budget.measure is SLOWER_MEASURE:
            yield baseline.result(budget, subject)
        else:
            yield _result(budget, subject)


def _result(budget: Budget, subject: Subject) -> Result:
    measured: float | None = None
    status: Status = "not measured"
    try:
        measured = budget.measure.take(subject, budget.unit)
    except NotMeasuredError as reason:
        note = str(reason)
    else:
        status, note = "pass" if budget.bound.holds(measured) else "fail", _extreme_note(budget, subject)
        if budget.measure.is_floor(subject) and budget.bound.most is not None and status == "pass":
            status, note = "inconclusive", "a lower bound: memory was only sampled when calls began and ended"
    return Result(
        budget=budget, path=subject.path, kind=subject.kind, status=status, measured=measured, note=note
    )


def _extreme_note(budget: Budget, subject: Subject) -> str:
    """Return a note if a percentile is computed from so few values that it is the maximum."""
    if budget.measure.quantile is None:
        return ""
    extreme, sample = ("largest", subject.gauge) if subject.gauge else ("longest", subject.stats)
    is_extreme = sample.count > 0 and sample.count * (1 - budget.measure.quantile) < 1
    return f"the {extreme} of {sample.count}" if is_extreme else ""


def _unfit_reason(budget: Budget, subject: Subject) -> str:
    nouns = [_NOUNS[kind] for kind in ("node", "loop", "gauge") if kind in budget.measure.kinds]
    limit = f"a limit on {budget.measure.name!r}" + (" without a unit" if budget.unit == "number" else "")
    return f"{limit} is for a {' or a '.join(nouns)}, and {subject.path!r} is a {_NOUNS[subject.kind]}"
