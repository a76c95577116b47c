"""The registry: every rule there is, and what all of them find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from ticktree.analysis.finding import (
    LEAST_SHARE,
    SEVERITIES,
    Claim,
    Finding,
    Severity,
    severity_of,
    severity_of_missed,
)
from ticktree.analysis.loops import Saving
from ticktree.analysis.ordering import ordered
from ticktree.analysis.rule import Rule
from ticktree.analysis.rules.allocation import AllocationRule
from ticktree.analysis.rules.buffer_copies import BufferCopiesRule
from ticktree.analysis.rules.contended import ContendedRule
from ticktree.analysis.rules.copied_twice import CopiedTwiceRule
from ticktree.analysis.rules.critical import CriticalRule
from ticktree.analysis.rules.drift import DriftRule
from ticktree.analysis.rules.fixed_sleep import FixedSleepRule
from ticktree.analysis.rules.garbage_collection import GarbageCollectionRule
from ticktree.analysis.rules.gpu_memory import GpuMemoryRule
from ticktree.analysis.rules.guidance import GuidanceRule
from ticktree.analysis.rules.horizon import HorizonRule
from ticktree.analysis.rules.idle_worker import IdleWorkerRule
from ticktree.analysis.rules.imbalance import ImbalanceRule
from ticktree.analysis.rules.impossible_rate import ImpossibleRateRule
from ticktree.analysis.rules.late_compilation import LateCompilationRule
from ticktree.analysis.rules.list_of_arrays import ListOfArraysRule
from ticktree.analysis.rules.memory import MemoryRule
from ticktree.analysis.rules.missed_deadline import MissedDeadlineRule
from ticktree.analysis.rules.no_compilation import NoCompilationRule
from ticktree.analysis.rules.oversubscribed import OversubscribedRule
from ticktree.analysis.rules.phase_change import PhaseChangeRule
from ticktree.analysis.rules.preprocessing import PreprocessingRule
from ticktree.analysis.rules.queue_merge import QueueMergeRule
from ticktree.analysis.rules.round_trip import RoundTripRule
from ticktree.analysis.rules.slow import SlowRule
from ticktree.analysis.rules.slow_rate import SlowRateRule
from ticktree.analysis.rules.spikes import SpikesRule
from ticktree.analysis.rules.starved import StarvedRule
from ticktree.analysis.rules.straggler import StragglerRule
from ticktree.analysis.rules.throttled import ThrottledRule
from ticktree.analysis.rules.too_few_ticks import TooFewTicksRule
from ticktree.analysis.rules.unused_gradients import UnusedGradientsRule
from ticktree.analysis.settings import Settings
from ticktree.analysis.survey import Survey
from ticktree.analysis.third_party import Loaded, found_by, installed, load
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty

# In the order in which findings that are equally worth it are told.
RULES: Sequence[Rule] = (
    FixedSleepRule(),
    MissedDeadlineRule(),
    SpikesRule(),
    StragglerRule(),
    ImbalanceRule(),
    IdleWorkerRule(),
    StarvedRule(),
    UnusedGradientsRule(),
    ListOfArraysRule(),
    CopiedTwiceRule(),
    AllocationRule(),
    PreprocessingRule(),
    HorizonRule(),
    GuidanceRule(),
    QueueMergeRule(),
    BufferCopiesRule(),
    RoundTripRule(),
    NoCompilationRule(),
    TooFewTicksRule(),
    ImpossibleRateRule(),
    SlowRateRule(),
    CriticalRule(),
    SlowRule(),
    MemoryRule(),
    GpuMemoryRule(),
    OversubscribedRule(),
    ContendedRule(),
    ThrottledRule(),
    LateCompilationRule(),
    GarbageCollectionRule(),
    PhaseChangeRule(),
    DriftRule(),
)


def findings(
    profile: Profile, settings: Settings | None = None, rules: Sequence[Rule] | None = None
) -> list[Finding]:
    """Return what there is to say of `profile`: numbers that cannot be, the most severe, what has most at stake.

    Args:
        profile: what is judged.
        settings: how; None for the defaults.
        rules: by which rules; None for all there are, those of other distributions included.
    """
    return found_in(Survey(profile, settings), rules)


def found_in(seen: Survey, rules: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the same of a profile that others look at as well.

    Rules may say names as they are: where those are whole calls, the short ones are said. Of a run that recorded
    nothing nothing is found: what its machine did meanwhile is no advice.
    """
    if is_empty(seen.profile):
        return []
    found = [finding for rule in (RULES if rules is None else rules) for finding in rule.find(seen)]
    if rules is None:
        found += [finding for other in others() for finding in found_by(other, seen)]
    valued = [_valued(finding, seen) for finding in found]
    return ordered(finding for finding in valued if _is_worth_a_line(finding, seen))


def _valued(finding: Finding, seen: Survey) -> Finding:
    """Return a finding with what its claim really saves, and how severe that is."""
    finding = replace(
        finding,
        message=seen.short_names.within(finding.message),
        evidence={key: _whole(key, value) for key, value in finding.evidence.items()},
    )
    if finding.claim is None:
        return finding
    saving = seen.saving(finding.claim)
    impact = seen.weighed_share(finding.claim, saving)
    severity = "info" if finding.kind == "size" else _severity(finding.claim, impact, saving, seen)
    return replace(finding, saving=saving, impact=impact, severity=severity)


def _whole(key: str, value: str | float) -> str | int | float:
    """Return a measured number without the digits that no clock and no counter have."""
    return round(value) if isinstance(value, float) and key.endswith(("_ns", "_bytes")) else value


def _severity(claim: Claim, impact: float, saving: Saving, seen: Survey) -> Severity:
    """Return how severe it is: what is saved, or how many missed ticks would be kept if that is more."""
    severity = severity_of(impact)
    view = seen.view_of(claim.path) if claim.path else None
    if view is None or view.loop is None or not view.misses or view.loop.lateness is None:
        return severity
    if saving.removed_ns < (view.loop.lateness.mean_ns or 0):
        return severity
    of_missed = severity_of_missed(view.loop.missed / view.ticks)
    return min(severity, of_missed, key=SEVERITIES.index)


def _is_worth_a_line(finding: Finding, seen: Survey) -> bool:
    """Whether anything is saved; in a loop that misses ticks, whatever is late may be the reason."""
    if finding.kind != "recommendation" or finding.saving is None or finding.saved_share >= LEAST_SHARE:
        return True
    view = seen.view_of(finding.loop or "")
    return view is not None and view.misses


@cache
def others() -> tuple[Loaded, ...]:
    """Return what came of the rules that other distributions bring, loaded once."""
    return load(installed(), {rule.name for rule in RULES})
