"""Ordering: which findings remain where several are about the same, and which is said first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ticktree.analysis.finding import Finding

# They say how much of a section there is, not why. Whoever says why, of the same section, says it better.
GENERIC = frozenset({"critical", "slow", "memory", "gpu-memory"})
# And this one says that it is slow for what it does, and guesses why.
_VAGUE = {**dict.fromkeys(GENERIC, 2), "slow-rate": 1}
# It must be why most of it is there: what explains a tenth of a section leaves the rest to be said.
EXPLAINED_SHARE = 0.5


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings: numbers that cannot be, then in the order of their severity, then of what is at stake.

    A vague one is left out where one that says more is about the same node, with at least half as much at stake, or
    says that its number cannot be. Of equal ones the order stays.
    """
    everything = list(found)
    about: dict[str, list[Finding]] = {}
    for finding in everything:
        about.setdefault(finding.path, []).append(finding)
    kept = [each for each in everything if not each.path or not _is_explained(each, about[each.path])]
    return sorted(kept, key=_order)  # stable


def _is_explained(finding: Finding, about: Sequence[Finding]) -> bool:
    """Tell whether one of those about the same node says more, and explains most of `finding`."""
    enough = EXPLAINED_SHARE * (_at_stake(finding) or 0.0)
    better = [_explains(each) for each in about if _vagueness(each) < _vagueness(finding)]
    return any(share is not None and share >= enough for share in better)


def _explains(finding: Finding) -> float | None:
    return math.inf if finding.is_wrong_number else _at_stake(finding)


def _vagueness(finding: Finding) -> int:
    return _VAGUE.get(finding.rule, 0)


def _at_stake(finding: Finding) -> float | None:
    at_stake = finding.evidence.get("at_stake_share")
    return float(at_stake) if isinstance(at_stake, (int, float)) else None


def _order(finding: Finding) -> tuple[bool, int, float]:
    return not finding.is_wrong_number, finding.rank, -(_at_stake(finding) or 0.0)
