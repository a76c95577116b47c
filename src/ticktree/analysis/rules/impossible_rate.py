"""A declared rate that is above what the machine can do: the number is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ticktree.analysis.finding import Evidence, Finding
from ticktree.analysis.loops import SectionView
from ticktree.analysis.machine import Ceilings, fastest_machine
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import amount, duration, last_name, times
from ticktree.analysis.work_rates import MARGIN, UNITS, WorkRate, on_the_processor, work_rates
from ticktree.profile import path as paths

# So many of those beside it are named.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Excess:
    """A rate that is too high.

    Attributes:
        rate: the rate.
        at_most: what the machine can do a second.
        is_certain: whether no way of computing could reach it.
    """

    rate: WorkRate
    at_most: float
    is_certain: bool

    @property
    def factor(self) -> float:
        return self.rate.per_s / self.at_most

    @property
    def fitting_items(self) -> float | None:
        """How many items a call there is time for; None where none were declared."""
        work = self.rate.node.work
        return work.items / self.rate.calls / self.factor if work and work.items else None


class ImpossibleRateRule:
    """Each node that says it did more than its machine can; see docs/rules/impossible-rate.md."""

    name: ClassVar[str] = "impossible-rate"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each group of siblings that are too fast, about the one that is so by the most."""
        here = fastest_machine(seen.profile)
        if here is None:
            return
        names = Counter(last_name(section.path) for section in seen.run.sections)
        shared = {name for name, count in names.items() if count > 1}
        groups: dict[tuple[str, bool], list[_Excess]] = {}
        for section in on_the_processor(seen.run.sections):
            excess = _excess(section, here)
            if excess is not None:
                groups.setdefault((paths.parent(section.path), excess.is_certain), []).append(excess)
        for group in groups.values():
            yield self._finding(sorted(group, key=lambda each: -each.factor), here, seen, shared)

    def _finding(
        self, group: Sequence[_Excess], here: Ceilings, seen: Survey, shared: Collection[str]
    ) -> Finding:
        worst, others = group[0], group[1:]
        path, is_certain = worst.rate.section.path, worst.is_certain and not here.gpus
        in_loop = any(path == loop or paths.is_below(path, loop) for loop in seen.profile.loops)
        return Finding(
            rule=self.name,
            kind="measurement",
            severity="critical" if is_certain and in_loop else "warning" if is_certain or in_loop else "info",
            path=path,
            message=_said(worst, others, here, shared),
            evidence=_evidence(worst, here),
            is_wrong_number=is_certain,
        )


def _excess(section: SectionView, here: Ceilings) -> _Excess | None:
    """Return the rate of `section` that exceeds what the machine can do by the most; None where none does."""
    over: list[_Excess] = []
    for rate in work_rates(section):
        at_most = rate.at_most_per_s(here)
        if at_most is None:
            continue
        is_bound = rate.kind == "flops" and not here.is_measured
        limit = at_most if is_bound else MARGIN * at_most
        narrower = here.low_precision_factor if rate.kind == "flops" else 1.0
        if rate.per_s > limit:
            over.append(_Excess(rate, at_most, is_certain=rate.per_s > limit * narrower))
    return max(over, key=lambda each: (each.is_certain, each.factor), default=None)


def _said(worst: _Excess, others: Sequence[_Excess], here: Ceilings, shared: Collection[str]) -> str:
    """Return the sentence: what cannot be, why, what it probably is, and what else cannot be."""
    rate, unit = worst.rate, UNITS[worst.rate.kind]
    name = last_name(rate.section.path)
    above = paths.parent(rate.section.path)
    if name in shared and above:  # as that of a layer, which every network has
        name = f"{name} in {last_name(above)}"
    sum_ = f"{amount(rate.per_call, unit)} in {duration(rate.ns / rate.calls)} is {amount(rate.per_s, unit + '/s')}"
    over = f"{times(worst.factor)} the {amount(worst.at_most, unit + '/s')} it can do at most"
    if not worst.is_certain:
        said = f"{name} is faster than this machine can be in float32: {sum_}, {over}"
        said += "; right only in bfloat16 or float16"
    elif here.gpus:
        said = f"{name} is faster than this machine's processor can be: {sum_}, {over}"
        said += "; if a GPU did it, was it waited for?"
    else:
        said = f"{name} is faster than this machine can be: {sum_}, {over}: probably {_probably(worst)}"
    if others:
        names = ", ".join(last_name(each.rate.section.path) for each in others[:_NAMED])
        more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
        said += f"; so {'is' if len(others) == 1 else 'are'} {names}{more} beside it"
    return said


def _probably(worst: _Excess) -> str:
    if worst.rate.kind == "bytes":
        return "nothing was copied (a view, shared memory), or a call was timed without waiting for its end"
    return f"an asynchronous call timed without waiting, or a wrong batch size{_batch(worst)}"


def _batch(worst: _Excess) -> str:
    fitting, work = worst.fitting_items, worst.rate.node.work
    if fitting is None or work is None:
        return ""
    declared = work.items / worst.rate.calls
    at_most = f"{fitting:,.0f}" if fitting >= 0.95 else "less than 1"
    return f" ({at_most} instead of {declared:,.0f})"


def _evidence(worst: _Excess, here: Ceilings) -> Evidence:
    kind, node = worst.rate.kind, worst.rate.node
    said: dict[str, str | int | float] = {
        f"declared_{kind}_per_s": worst.rate.per_s,
        f"at_most_{kind}_per_s": worst.at_most,
        "too_fast_factor": worst.factor,
        "a_call_ns": worst.rate.ns / worst.rate.calls,
        "calls": node.count,
        "ceiling": "measured" if kind == "bytes" or here.is_measured else "reckoned",
    }
    if worst.fitting_items is not None:
        said["items_would_fit"] = worst.fitting_items
    return said
