"""The registry: every rule, and the findings of all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ticktree.analysis.context import Context
from ticktree.analysis.finding import (
    KINDS,
    LEAST_SHARE,
    SEVERITIES,
    Claim,
    Finding,
    Settings,
    Severity,
    severity_of,
    severity_of_missed,
)
from ticktree.analysis.loops import Saving
from ticktree.analysis.rules import (
    changes,
    copies,
    deadlines,
    lines,
    locks,
    machine,
    memory,
    queues,
    robot,
    sections,
    tasks,
    torch,
    work,
    workers,
)
from ticktree.analysis.third_party import Loaded, Rule, found_by, installed, load
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty

# Rules that report that something is large or late, not why. A rule that explains why, for the same node, replaces
# them.
_VAGUENESS = {
    **dict.fromkeys(("critical", "slow", "memory", "gpu-memory"), 3),
    "missed-deadline": 2,
    "slow-rate": 1,
}
# It must explain most of the section: an explanation of a tenth leaves the rest unexplained.
EXPLAINED_SHARE = 0.5

# In the order of findings that save equally much.
RULES: Sequence[Rule] = (
    deadlines.FixedSleepRule(),
    deadlines.MissedDeadlineRule(),
    deadlines.LateWakeRule(),
    deadlines.SpikesRule(),
    workers.TransportRule(),
    locks.LockConvoyRule(),
    locks.GilRule(),
    tasks.BlockedEventLoopRule(),
    workers.StragglerRule(),
    workers.ImbalanceRule(),
    workers.UnevenTasksRule(),
    workers.IdleWorkerRule(),
    queues.StarvedRule(),
    queues.FullQueueRule(),
    torch.AnomalyDetectionRule(),
    torch.UnusedGradientsRule(),
    torch.SlowLoaderRule(),
    torch.PageableCopiesRule(),
    torch.GpuWaitRule(),
    torch.SmallMinibatchesRule(),
    lines.HotLineRule(),
    copies.ListOfArraysRule(),
    copies.CopiedTwiceRule(),
    memory.AllocationRule(),
    sections.BlockingWritesRule(),
    sections.EvaluationRule(),
    robot.PreprocessingRule(),
    robot.HorizonRule(),
    robot.GuidanceRule(),
    robot.QueueMergeRule(),
    robot.BufferCopiesRule(),
    robot.RoundTripRule(),
    torch.NoCompilationRule(),
    deadlines.TooFewTicksRule(),
    work.ImpossibleRateRule(),
    work.SlowRateRule(),
    sections.CriticalRule(),
    sections.SlowRule(),
    memory.MemoryRule(),
    memory.MemoryGrowthRule(),
    memory.GpuMemoryRule(),
    machine.OversubscribedRule(),
    machine.ContendedRule(),
    machine.ThrottledRule(),
    torch.LateCompilationRule(),
    torch.RecompilationRule(),
    memory.GarbageCollectionRule(),
    changes.PhaseChangeRule(),
    changes.DriftRule(),
)


def findings(
    profile: Profile, settings: Settings | None = None, rules: Sequence[Rule] | None = None
) -> list[Finding]:
    """Return the findings of a profile: wrong numbers first, then by kind, severity and saving.

    Without `rules`, they are those of all rules, those of other distributions included.
    """
    return found_in(Context(profile, settings), rules)


def found_in(context: Context, rules: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the findings of a context; none for an empty run, whose machine alone is no reason for a finding."""
    if is_empty(context.profile):
        return []
    found = [finding for rule in (RULES if rules is None else rules) for finding in rule.find(context)]
    if rules is None:
        found += [finding for other in others() for finding in found_by(other, context)]
    valued = [_valued(finding, context) for finding in found]
    return ordered(finding for finding in valued if _is_worth_a_line(finding, context))


def _valued(finding: Finding, context: Context) -> Finding:
    """Return a finding with the saving of its claim, and its severity."""
    finding = replace(finding, facts={key: _whole(key, value) for key, value in finding.facts.items()})
    if finding.claim is None:
        return finding
    saving = context.saving(finding.claim)
    impact = context.weighed_share(finding.claim, saving)
    severity = "info" if finding.kind == "size" else _severity(finding.claim, impact, saving, context)
    return replace(finding, saving=saving, impact=impact, severity=severity)


def _whole(key: str, value: str | float) -> str | int | float:
    """Return a measured number without the digits that no clock and no counter have."""
    return round(value) if isinstance(value, float) and key.endswith(("_ns", "_bytes")) else value


def _severity(claim: Claim, impact: float, saving: Saving, context: Context) -> Severity:
    """Return the severity: by the saving, or by the missed ticks that it would avoid, if that is more."""
    severity = severity_of(impact)
    view = context.loop_of(claim)
    if view is None or view.loop is None or not view.misses or view.loop.lateness is None:
        return severity
    if saving.removed_ns < (view.loop.lateness.mean_ns or 0):
        return severity
    of_missed = severity_of_missed(view.loop.missed / view.ticks)
    return min(severity, of_missed, key=SEVERITIES.index)


def _is_worth_a_line(finding: Finding, context: Context) -> bool:
    """Return whether anything is saved; in a loop that fails, every section may be the reason."""
    if finding.kind != "recommendation" or finding.saving is None or finding.saved_share >= LEAST_SHARE:
        return True
    view = context.view_of(finding.loop or "")
    return view is not None and view.fails


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings: wrong numbers, then by kind, severity and saving. Of equal ones the order stays.

    A vague one is left out where a less vague one of the same kind or a recommendation is about the same node, and
    saves at least half as much.
    """
    everything = list(found)
    kept = [finding for finding in everything if not _is_explained(finding, everything)]
    return sorted(kept, key=_order)  # stable


def _is_explained(finding: Finding, everything: Sequence[Finding]) -> bool:
    return bool(finding.path) and any(
        finding.path == other.path and _vagueness(other) < _vagueness(finding) and _is_most_of(other, finding)
        for other in everything
    )


def _is_most_of(cause: Finding, finding: Finding) -> bool:
    """Whether a cause explains most of what a finding is about, by what both save, or else by how severe they are."""
    if cause.saving is None:
        return False
    if finding.saving is None:
        return cause.rank <= finding.rank
    return cause.saved_share >= EXPLAINED_SHARE * finding.saved_share


def _vagueness(finding: Finding) -> int:
    return _VAGUENESS.get(finding.rule, 0)


def _order(finding: Finding) -> tuple[bool, int, int, float]:
    return not finding.is_wrong_number, KINDS.index(finding.kind), finding.rank, -finding.impact


@cache
def others() -> tuple[Loaded, ...]:
    """Return what came of the rules that other distributions bring, loaded once."""
    return load(installed(), {rule.name for rule in RULES})


# What the first line of each of ticktree's own rules ends with; docs/rules has a page each.
_SEE = "; see docs/rules/"


class Explained(NamedTuple):
    """The description of a rule.

    Attributes:
        about: its docstring; "" if it has none, or if Python left docstrings out.
        page: its page in ticktree's documentation; "" for rules of other distributions.
    """

    about: str
    page: str


def explained(name: str) -> Explained:
    """Return what the rule called `name` is about."""
    rule = next((rule for rule in RULES if rule.name == name), None)
    if rule is not None:
        about, finds = _documented(rule)
        first, _, _ = finds.partition(_SEE)
        about = f"{about} It {first[:1].lower()}{first[1:]}." if first else about
        return Explained(about, f"docs/rules/{name}.md")
    theirs = (other.rule for other in others() if other.rule is not None and other.rule.name == name)
    return Explained(next((_documented(rule)[0] for rule in theirs), ""), "")


def _documented(rule: Rule) -> tuple[str, str]:
    """Return the first paragraph of a rule's docstring, and the rest."""
    about, _, rest = (inspect.getdoc(type(rule)) or "").partition("\n\n")
    return " ".join(about.split()), " ".join(rest.split())
