"""Rules about changes during a run: ticks that become slower all along, or from one moment on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.drift.changed_loops import ChangedLoop, changed_loops
from ticktree.analysis.drift.changes import Kind
from ticktree.analysis.finding import Claim, Fact, Finding
from ticktree.analysis.machine import Machine, is_contended
from ticktree.analysis.survey import Survey


class DriftRule:
    """A loop's ticks become slower, or faster, all along the run.

    Finds each loop whose time per tick rises or falls from its beginning to its end; see docs/rules/drift.md.
    """

    name: ClassVar[str] = "drift"

    def find(self, context: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop with a trend (analysis/drift/changes.py says when there is one)."""
        return _findings(self.name, context, "trend")


class PhaseChangeRule:
    """At one moment of the run a loop's ticks change to another level.

    Finds each loop whose time per tick is another from one moment on; see docs/rules/phase-change.md.
    """

    name: ClassVar[str] = "phase-change"

    def find(self, context: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop with a step (analysis/drift/step.py says when there is one)."""
        return _findings(self.name, context, "step")


def _findings(rule: str, context: Survey, kind: Kind) -> Iterator[Finding]:
    # Where other processes took the run's cores, the change may be theirs.
    is_doubtful = is_contended(Machine(context.profile))
    for changed in changed_loops(context, kind):
        facts = _facts(changed)
        if is_doubtful:
            facts["doubt"] = "contended"
        yield Finding(
            rule=rule,
            kind="measurement" if is_doubtful else "recommendation",
            claim=Claim(changed.lost_ns / context.run_ns if context.run_ns else 0.0),
            path=changed.cause.path,
            facts=facts,
        )


def _facts(changed: ChangedLoop) -> dict[str, Fact]:
    change, cause = changed.change, changed.cause
    facts: dict[str, Fact] = {
        "changed_loop": changed.loop.path,
        "tick_before_ns": change.before_ns,
        "tick_after_ns": change.after_ns,
        "ticks": changed.loop.stats.count,
    }
    if cause.path != changed.loop.path:
        facts |= {
            "section": cause.path,
            "explained_share": min(1.0, cause.share),
            "section_before_ns": cause.before_ns,
            "section_after_ns": cause.after_ns,
        }
    if change.kind == "step":
        facts["ticks"] = sum(each.ticks for each in (*change.before, *change.after, *change.rest))
        facts["from_ns"] = change.after[0].first * changed.width_ns
        if not change.lasts:
            facts["until_ns"] = (change.after[-1].last + 1) * changed.width_ns
    return facts
