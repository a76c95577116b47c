"""The baseline: whether anything became slower than it may, as the comparison of runs says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from ticktree.analysis.budgets.bound import Bound
from ticktree.analysis.budgets.budget import Budget
from ticktree.analysis.budgets.registry import SLOWER
from ticktree.analysis.budgets.result import Result, Status
from ticktree.analysis.budgets.subject import Subject
from ticktree.analysis.comparison import Entry, compare
from ticktree.profile import Profile

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
            budget = Budget(path, SLOWER, Bound(most=allowed), "share", source)
            yield replace(self.result(budget, Subject(path, entry.kind)), of_everything=True)

    def unpaired(self, allowed: float) -> tuple[int, int]:
        """How many sections only the baseline has, and how many only the run; the limit does not change that."""
        verdicts = [entry.verdict for (kind, _), entry in self._entries(allowed).items() if kind == "node"]
        return verdicts.count("only in base"), verdicts.count("only in new")

    def _compared(self, allowed: float) -> dict[tuple[str, str], Entry]:
        compared = compare(self._base, self._new, threshold=max(allowed, _LEAST_THRESHOLD))
        return {(entry.kind, entry.path): entry for entry in compared.entries}


def _status(entry: Entry | None, allowed: float) -> tuple[Status, str]:
    """Broken is what is certainly slower than it may be: its whole interval lies above the limit."""
    if entry is None or entry.verdict == "only in new":
        return "not measured", "the baseline has no call of it after warm-up"
    if entry.shift is None:
        return "not measured", "this run has no call of it after warm-up"
    if entry.verdict == "slower" and entry.shift.low > allowed:
        return "broken", ""
    if entry.shift.high <= allowed:
        return "held", ""
    if not math.isfinite(entry.shift.high):
        return "inconclusive", "too few values for an interval"
    # The interval alone would do, were it the only one.
    return "inconclusive", "among so many sections it may be chance" if entry.shift.low > allowed else ""
