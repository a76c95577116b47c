"""Ordering: which findings remain where several are about the same, and which is said first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ticktree.analysis.finding import Finding

# They say how much of a section there is, not why. Whoever says why, of the same section, says it better.
GENERIC = frozenset({"critical", "slow", "memory", "gpu-memory"})
# It must be why most of it is there: what explains a tenth of a section leaves the rest to be said.
EXPLAINED_SHARE = 0.5


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of their severity, then of what is at stake.

    A generic one is left out where a specific rule found something about the same node, with at least half as much at
    stake. Of equal ones the order stays.
    """
    everything = list(found)
    explained = _explained([finding for finding in everything if finding.rule not in GENERIC])
    kept = [
        finding
        for finding in everything
        if finding.rule not in GENERIC
        or finding.path not in explained
        or explained[finding.path] < EXPLAINED_SHARE * (_at_stake(finding) or 0.0)
    ]
    return sorted(kept, key=_order)  # stable


def _explained(specific: Sequence[Finding]) -> dict[str, float]:
    """Return the most that is at stake at each node, of those where a finding says it."""
    most: dict[str, float] = {}
    for finding in specific:
        at_stake = _at_stake(finding)
        if finding.path and at_stake is not None:
            most[finding.path] = max(at_stake, most.get(finding.path, 0.0))
    return most


def _at_stake(finding: Finding) -> float | None:
    at_stake = finding.evidence.get("at_stake_share")
    return float(at_stake) if isinstance(at_stake, (int, float)) else None


def _order(finding: Finding) -> tuple[int, float]:
    return finding.rank, -(_at_stake(finding) or 0.0)
