"""The registry: every rule there is, and what all of them find."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.finding import Finding
from ticktree.analysis.ordering import ordered
from ticktree.analysis.rule import Rule
from ticktree.analysis.rules.critical import CriticalRule
from ticktree.analysis.rules.gpu_memory import GpuMemoryRule
from ticktree.analysis.rules.idle_worker import IdleWorkerRule
from ticktree.analysis.rules.imbalance import ImbalanceRule
from ticktree.analysis.rules.memory import MemoryRule
from ticktree.analysis.rules.slow import SlowRule
from ticktree.analysis.rules.straggler import StragglerRule
from ticktree.analysis.settings import Settings
from ticktree.analysis.survey import Survey
from ticktree.profile import Profile

RULES: Sequence[Rule] = (
    StragglerRule(),
    ImbalanceRule(),
    IdleWorkerRule(),
    CriticalRule(),
    SlowRule(),
    MemoryRule(),
    GpuMemoryRule(),
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
    return found_in(Survey(profile, settings), rules)


def found_in(seen: Survey, rules: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the same of a profile that others look at as well."""
    return ordered(finding for rule in (RULES if rules is None else rules) for finding in rule.find(seen))
