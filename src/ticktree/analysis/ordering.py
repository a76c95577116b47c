"""Ordering: which findings remain where several are about the same, and which is said first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ticktree.analysis.finding import Finding

# They say how much of a section there is, not why. Whoever says why, of the same section, says it better.
GENERIC = frozenset({"critical", "slow", "memory", "gpu-memory"})
# And this one says that it is slow for what it does, and guesses why.
_VAGUENESS = {**dict.fromkeys(GENERIC, 2), "slow-rate": 1}
# It must be why most of it is there: what explains a tenth of a section leaves the rest to be said.
EXPLAINED_SHARE = 0.5


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings: numbers that cannot be, then in the order of their severity, then of what is at stake.

    A vague one is left out where a less vague one is about the same node, with at least half as much at stake. Of
    equal ones the order stays.
    """
    everything = list(found)
    kept = [finding for finding in everything if not _is_explained(finding, everything)]
    return sorted(kept, key=_order)  # stable


def _is_explained(finding: Finding, everything: Sequence[Finding]) -> bool:
    least = EXPLAINED_SHARE * (_at_stake(finding) or 0.0)
    return any(
        finding.path == other.path and _vagueness(other) < _vagueness(finding) and at_stake >= least
        for other in everything
        if finding.path and (at_stake := _at_stake(other)) is not None
    )


def _vagueness(finding: Finding) -> int:
    return _VAGUENESS.get(finding.rule, 0)


def _at_stake(finding: Finding) -> float | None:
    at_stake = finding.evidence.get("at_stake_share")
    return float(at_stake) if isinstance(at_stake, (int, float)) else None


def _order(finding: Finding) -> tuple[bool, int, float]:
    return not finding.is_wrong_number, finding.rank, -(_at_stake(finding) or 0.0)
