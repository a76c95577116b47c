"""Ordering: which findings remain where several are about the same, and which is said first."""

from __future__ import annotations

from collections.abc import Iterable

from ticktree.analysis.finding import Finding

# They say how much of a section there is, not why. Whoever says why, of the same section, says it better.
GENERIC = frozenset({"critical", "slow", "memory", "gpu-memory"})
# And this one says that it is slow for what it does, and guesses why.
_VAGUE = {**dict.fromkeys(GENERIC, 2), "slow-rate": 1}


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings: numbers that cannot be, then in the order of their severity, then of what is at stake.

    A generic one is left out where a specific rule found something about the same node. Of equal ones the order stays.
    """
    everything = list(found)
    least: dict[str, int] = {}
    for each in everything:
        if each.path:
            least[each.path] = min(_vagueness(each), least.get(each.path, _vagueness(each)))
    kept = [each for each in everything if _vagueness(each) <= least.get(each.path, _vagueness(each))]
    return sorted(kept, key=_order)  # stable


def _vagueness(finding: Finding) -> int:
    return _VAGUE.get(finding.rule, 0)


def _order(finding: Finding) -> tuple[bool, int, float]:
    at_stake = finding.evidence.get("at_stake_share", 0.0)
    return not finding.is_wrong_number, finding.rank, -at_stake if isinstance(at_stake, (int, float)) else 0.0
