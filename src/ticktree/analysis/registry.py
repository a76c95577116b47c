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
    MIN_SAVING_SHARE,
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
from ticktree.analysis.third_party import LoadedRule, Rule, findings_of, installed_rules, load_rules
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty

# Rules that report that something is large or late, not why. A rule that explains why replaces them for its node.
_VAGUENESS = {
    **dict.fromkeys(("critical", "slow", "memory", "gpu-memory"), 3),
    "missed-deadline": 2,
    "slow-rate": 1,
}
# The explanation must cover this share of the saving: an explanation of a tenth leaves the rest unexplained.
EXPLAINED_SHARE = 0.5

# In this order come findings with equal savings.
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

    Without `rules`, all rules are used, including those of other distributions.
    """
    return context_findings(Context(profile, settings), rules)


def context_findings(context: Context, rules: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the findings of a context; none for an empty run, because its machine alone is no reason for one."""
    if is_empty(context.profile):
        return []
    results = [finding for rule in (RULES if rules is None else rules) for finding in rule.find(context)]
    if rules is None:
        results += [finding for loaded in third_party_rules() for finding in findings_of(loaded, context)]
    rated = [_rate(finding, context) for finding in results]
    return sort_findings(finding for finding in rated if _is_worth_a_line(finding, context))


def _rate(finding: Finding, context: Context) -> Finding:
    """Return a finding with the saving of its claim, and its severity."""
    finding = replace(finding, facts={key: _round_fact(key, value) for key, value in finding.facts.items()})
    if finding.claim is None:
        return finding
    saving = context.saving(finding.claim)
    impact = context.weighed_share(finding.claim, saving)
    severity = "info" if finding.kind == "size" else _severity(finding.claim, impact, saving, context)
    return replace(finding, saving=saving, impact=impact, severity=severity)


def _round_fact(key: str, value: str | float) -> str | int | float:
    """Return a measured number rounded to whole nanoseconds or bytes, the resolution of clocks and counters."""
    return round(value) if isinstance(value, float) and key.endswith(("_ns", "_bytes")) else value


def _severity(claim: Claim, impact: float, saving: Saving, context: Context) -> Severity:
    """Return the severity of the saving, or of the missed ticks that it would avoid, whichever is more severe."""
    severity = severity_of(impact)
    view = context.loop_of(claim)
    if view is None or view.loop is None or not view.misses or view.loop.lateness is None:
        return severity
    if saving.removed_ns < (view.loop.lateness.mean_ns or 0):
        return severity
    missed_severity = severity_of_missed(view.loop.missed / view.ticks)
    return min(severity, missed_severity, key=SEVERITIES.index)


def _is_worth_a_line(finding: Finding, context: Context) -> bool:
    """Return whether the finding saves enough to show; in a loop that fails, every section may be the reason."""
    if finding.kind != "recommendation" or finding.saving is None or finding.saved_share >= MIN_SAVING_SHARE:
        return True
    view = context.view_of(finding.loop or "")
    return view is not None and view.fails


def sort_findings(all_findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings sorted: wrong numbers first, then by kind, severity and saving; equal ones keep their order.

    A vague finding is left out if a less vague one is about the same node and saves at least half as much.
    """
    candidates = list(all_findings)
    specific = [finding for finding in candidates if not _is_explained(finding, candidates)]
    return sorted(  # stable
        specific,
        key=lambda entry: (not entry.is_wrong_number, KINDS.index(entry.kind), entry.rank, -entry.impact),
    )


def _is_explained(finding: Finding, candidates: Sequence[Finding]) -> bool:
    return bool(finding.path) and any(
        finding.path == other.path and _vagueness(other) < _vagueness(finding) and _is_most_of(other, finding)
        for other in candidates
    )


def _is_most_of(cause: Finding, finding: Finding) -> bool:
    """Return whether a cause explains most of a finding, by their savings, or else by their severities."""
    if cause.saving is None:
        return False
    if finding.saving is None:
        return cause.rank <= finding.rank
    return cause.saved_share >= EXPLAINED_SHARE * finding.saved_share


def _vagueness(finding: Finding) -> int:
    return _VAGUENESS.get(finding.rule, 0)


@cache
def third_party_rules() -> tuple[LoadedRule, ...]:
    """Return the result of loading the rules of other distributions, once per process."""
    return load_rules(installed_rules(), {rule.name for rule in RULES})


# Follows the first sentence of each of ticktree's rules; docs/rules has a page for each.
_SEE_DOCS = "; see docs/rules/"


class RuleDescription(NamedTuple):
    """The description of a rule.

    Attributes:
        about: its docstring; "" if it has none, or if Python removed docstrings.
        page: its page in ticktree's documentation; "" for rules of other distributions.
    """

    about: str
    page: str


def describe_rule(name: str) -> RuleDescription:
    """Return the description of the rule called `name`."""
    rule = next((rule for rule in RULES if rule.name == name), None)
    if rule is not None:
        summary, details = _docstring_parts(rule)
        first, _, _ = details.partition(_SEE_DOCS)
        summary = f"{summary} It {first[:1].lower()}{first[1:]}." if first else summary
        return RuleDescription(summary, f"docs/rules/{name}.md")
    foreign_rules = (
        loaded.rule for loaded in third_party_rules() if loaded.rule is not None and loaded.rule.name == name
    )
    return RuleDescription(next((_docstring_parts(rule)[0] for rule in foreign_rules), ""), "")


def _docstring_parts(rule: Rule) -> tuple[str, str]:
    """Return the first paragraph of a rule's docstring, and the rest."""
    summary, _, details = (inspect.getdoc(type(rule)) or "").partition("\n\n")
    return " ".join(summary.split()), " ".join(details.split())
