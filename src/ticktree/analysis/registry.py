"""The registry: every rule there is, and what all of them find."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.finding import Finding
from ticktree.analysis.rule import Rule
from ticktree.analysis.rules.contended import ContendedRule
from ticktree.analysis.rules.drift import DriftRule
from ticktree.analysis.rules.garbage_collection import GarbageCollectionRule
from ticktree.analysis.rules.idle_worker import IdleWorkerRule
from ticktree.analysis.rules.imbalance import ImbalanceRule
from ticktree.analysis.rules.late_compilation import LateCompilationRule
from ticktree.analysis.rules.oversubscribed import OversubscribedRule
from ticktree.analysis.rules.phase_change import PhaseChangeRule
from ticktree.analysis.rules.straggler import StragglerRule
from ticktree.analysis.rules.throttled import ThrottledRule
from ticktree.analysis.settings import Settings
from ticktree.analysis.survey import Survey
from ticktree.profile import Profile

RULES: Sequence[Rule] = (
    StragglerRule(),
    ImbalanceRule(),
    IdleWorkerRule(),
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
    """Return what there is to say of `profile`, the most severe first, then what has most at stake.

    Args:
        profile: what is judged.
        settings: how; None for the defaults.
        rules: by which rules; None for all there are.
    """
    seen = Survey(profile, settings)
    found = [finding for rule in (RULES if rules is None else rules) for finding in rule.find(seen)]
    return sorted(found, key=_order)  # and then in the order of the rules: the sort is stable


def _order(finding: Finding) -> tuple[int, float]:
    at_stake = finding.evidence.get("at_stake_share", 0.0)
    return finding.rank, -at_stake if isinstance(at_stake, (int, float)) else 0.0
