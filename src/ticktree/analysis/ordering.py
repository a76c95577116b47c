"""Ordering: which findings remain where several are about the same, and which is said first."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.analysis.finding import Finding

# They say how much of a section there is, not why. Whoever says why, of the same section, says it better.
GENERIC = frozenset({"critical", "slow", "memory", "gpu-memory"})


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of their severity, then of what is at stake.

    A generic one is left out where a specific rule found something about the same node. Of equal ones the order stays.
    """
    everything = list(found)
    explained = {finding.path for finding in everything if finding.rule not in GENERIC and finding.path}
    kept = [each for each in everything if each.rule not in GENERIC or each.path not in explained]
    return sorted(kept, key=_order)  # stable


def _order(finding: Finding) -> tuple[int, float]:
    at_stake = finding.evidence.get("at_stake_share", 0.0)
    return finding.rank, -at_stake if isinstance(at_stake, (int, float)) else 0.0
