"""At one moment of the run a loop's ticks go to another level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.drift.changed_loops import Changed, changed_loops
from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.rules.drift import doubt_of, evidence_of, explained
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, last_name


class PhaseChangeRule:
    """Each loop whose time a tick is another from one moment on; see docs/rules/phase-change.md."""

    name: ClassVar[str] = "phase-change"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop with a step (analysis/drift/step.py says when there is one)."""
        doubt = doubt_of(seen)
        for changed in changed_loops(seen, "step"):
            yield Finding(
                rule=self.name,
                kind="measurement" if doubt else "recommendation",
                claim=Claim(changed.lost_ns / seen.run_ns if seen.run_ns else 0.0),
                path=changed.cause.path,
                message=_said(changed) + doubt,
                evidence={**evidence_of(changed), "after_the_run_began_ns": began_ns(changed)},
            )


def began_ns(changed: Changed) -> int:
    """Return when the level changed, since the run began: to within a window."""
    return changed.course.after[0].first * changed.width_ns


def _said(changed: Changed) -> str:
    course = changed.course
    when = duration(began_ns(changed))
    if not course.lasts:
        when += f" to {duration((course.after[-1].last + 1) * changed.width_ns)}"
    slower = "slower" if course.change > 0 else "faster"
    since = f"is {slower} from {when} of the run" + (" on" if course.lasts else "")
    times = f"{duration(course.after_ns)} a tick, {duration(course.before_ns)} {'before' if course.lasts else 'else'}"
    return f"{last_name(changed.loop.path)} {since}: {times}{explained(changed)}"
