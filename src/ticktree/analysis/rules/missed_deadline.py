"""A loop misses its budget: when, by how much, and what was different when it did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Finding, severity_of_missed
from ticktree.analysis.loops import MISSES_SHARE
from ticktree.analysis.missed_ticks import TOLD_SHARE, Misses, misses
from ticktree.analysis.survey import Survey
from ticktree.analysis.tick_causes import FAULT_NS
from ticktree.analysis.wording import duration, last_name
from ticktree.profile import Causes

# Fewer ticks say nothing about a rate: as the rule too-few-ticks has it.
LEAST_TICKS = 10
MOST_SECTIONS = 2
# Once per missed tick, and so much more often than usually, its core is taken for a reason.
SWITCHES_FACTOR = 2.0


class MissedDeadlineRule:
    """Each loop that misses its budget more than once in a thousand ticks; see docs/rules/missed-deadline.md."""

    name: ClassVar[str] = "missed-deadline"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield the loops that miss ticks, the one that misses the largest part of them first."""
        for one in misses(seen.profile):
            loop = one.loop
            if loop.budget_ns is None or loop.stats.count < LEAST_TICKS or one.share < MISSES_SHARE:
                continue
            yield Finding(
                rule=self.name,
                severity=severity_of_missed(one.share),
                path=loop.path,
                message=_message(one, loop.budget_ns),
                evidence=_evidence(one, loop.budget_ns),
            )


def _message(one: Misses, budget_ns: int) -> str:
    return _all_missed(one, budget_ns) if not one.kept else _some_missed(one)


def _all_missed(one: Misses, budget_ns: int) -> str:
    loop = one.loop
    said = f"{loop.name} misses every one of its {loop.missed:,} ticks: the budget is below what it needs"
    if one.work is not None:
        said += f", {duration(one.work.missed)} of work where there are {duration(budget_ns)}"
        if one.largest is not None and one.largest.missed > 0:
            said += f"; {last_name(one.largest.path)} is the most of it, {duration(one.largest.missed)}"
    return said


def _some_missed(one: Misses) -> str:
    loop = one.loop
    said = f"{loop.name} misses {loop.missed:,} of {loop.stats.count:,} ticks ({_percent(one.share)})"
    if loop.longest_miss_run > 1:
        said += f", up to {loop.longest_miss_run:,} in a row"
    found = [*_sections(one), *(text for text, _ in _causes(one))]
    return said + (": " + "; ".join(found) if found else "")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share < 0.0095 else f"{100 * share:.0f}%"


def _sections(one: Misses) -> Iterator[str]:
    for place, usual in enumerate(one.blamed[:MOST_SECTIONS]):
        own = usual.path == one.loop.path
        what = "what is in none of its sections" if own else last_name(usual.path)
        those = " in those," if not place else ","
        yield f"{what} takes {duration(usual.missed)}{those} {duration(usual.kept)} otherwise"


def _causes(one: Misses) -> Iterator[tuple[str, str]]:
    """Yield what else was different in missed ticks, as a part of the sentence and by its name."""
    known = one.causes()
    if known is None or one.work is None or one.work.excess <= 0:
        return
    missed, kept = known
    least_ns = TOLD_SHARE * one.work.excess
    gc_ns = _more(missed.gc_ns, missed, kept.gc_ns, kept)
    if gc_ns >= least_ns:
        yield f"the garbage collector {duration(gc_ns)} of it", "gc"
    taken, usually = missed.involuntary_switches / missed.ticks, kept.involuntary_switches / kept.ticks
    if taken >= 1 and taken >= SWITCHES_FACTOR * usually:
        yield f"its core went to somebody else {taken:.1f} times in each, {usually:.1f} otherwise", "switches"
    read = _more(missed.major_faults, missed, kept.major_faults, kept)
    if read >= 1:
        yield f"{read:,.0f} more pages of memory were read from a disk in each", "disk"
    touched = _more(missed.minor_faults, missed, kept.minor_faults, kept)
    if touched * FAULT_NS >= least_ns:
        yield f"{touched:,.0f} more pages of memory were touched for the first time in each", "faults"


def _more(in_missed: int, missed: Causes, in_kept: int, kept: Causes) -> float:
    return in_missed / missed.ticks - in_kept / kept.ticks


def _evidence(one: Misses, budget_ns: int) -> dict[str, str | int | float]:
    loop = one.loop
    said: dict[str, str | int | float] = {
        "missed": loop.missed,
        "ticks": loop.stats.count,
        "missed_share": round(one.share, 6),
        "longest_run": loop.longest_miss_run,
        "budget_ns": budget_ns,
    }
    if loop.lateness is not None and loop.lateness.mean_ns is not None:
        late = loop.lateness
        said |= {"late_on_average_ns": loop.lateness.mean_ns, "late_at_most_ns": late.max_ns}
    if one.kept and one.blamed:
        worst = one.blamed[0]
        said |= {"section": worst.path}
        said |= {"in_missed_ticks_ns": round(worst.missed), "in_kept_ticks_ns": round(worst.kept)}
    elif not one.kept and one.largest is not None:
        said |= {"section": one.largest.path, "in_missed_ticks_ns": round(one.largest.missed)}
    causes = [name for _, name in _causes(one)] if one.kept else []
    if _compiles(one):
        causes.append("compiling")
    if causes:
        said["cause"] = ", ".join(causes)
    return said


def _compiles(one: Misses) -> bool:
    """Whether what takes longer in missed ticks says of itself that it compiles."""
    return any("compil" in last_name(usual.path).lower() for usual in one.blamed)
