"""A loop's ticks become slower, or faster, all along the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.drift.changed_loops import Changed, changed_loops
from ticktree.analysis.finding import Claim, Evidence, Finding
from ticktree.analysis.machine import Machine
from ticktree.analysis.rules.contended import is_contended
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, last_name, percent


class DriftRule:
    """Each loop whose time a tick rises or falls from its beginning to its end; see docs/rules/drift.md."""

    name: ClassVar[str] = "drift"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop with a trend (analysis/drift/changes.py says when there is one)."""
        doubt = doubt_of(seen)
        for changed in changed_loops(seen, "trend"):
            yield Finding(
                rule=self.name,
                kind="measurement" if doubt else "recommendation",
                claim=Claim(changed.lost_ns / seen.run_ns if seen.run_ns else 0.0),
                path=changed.cause.path,
                message=_said(changed) + doubt,
                evidence=evidence_of(changed),
            )


def doubt_of(seen: Survey) -> str:
    """Return why a change over time may not be the program's, as the end of a sentence; "" where it is."""
    if not is_contended(Machine(seen.profile)):
        return ""
    return "; other processes took the run's cores, so the change may be theirs: measure on an idle machine"


def _said(changed: Changed) -> str:
    course, loop = changed.course, changed.loop.path
    slower = "slower" if course.change > 0 else "faster"
    times = f"{duration(course.before_ns)} a tick at first and {duration(course.after_ns)} at the end"
    return f"{last_name(loop)} becomes {slower} all along: {times}{explained(changed)}"


def explained(changed: Changed) -> str:
    """Return whose change it is, as the end of a sentence."""
    if changed.cause.path == changed.loop.path:
        return ", in no one section of it"
    if changed.cause.share > 1:
        return f", all of it in {last_name(changed.cause.path)}"
    return f", {percent(changed.cause.share)} of it in {last_name(changed.cause.path)}"


def evidence_of(changed: Changed) -> Evidence:
    """Return what a change rests on."""
    course, cause = changed.course, changed.cause
    ticks = sum(each.ticks for each in (*course.before, *course.after, *course.rest))
    evidence: dict[str, str | int | float] = {
        "a_tick_before_ns": course.before_ns,
        "a_tick_after_ns": course.after_ns,
        "ticks": ticks if course.kind == "step" else changed.loop.stats.count,
    }
    if cause.path != changed.loop.path:
        name = "of_that_in_the_section"
        evidence |= {f"{name}_before_ns": cause.before_ns, f"{name}_after_ns": cause.after_ns}
    return evidence
