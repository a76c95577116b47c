"""Ordering: which findings remain where several are about the same, and which comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ticktree.analysis.finding import KINDS, Finding

# They say that something is large or late, not why. A rule that says why, of the same node, says it better.
_VAGUENESS = {
    **dict.fromkeys(("critical", "slow", "memory", "gpu-memory"), 3),
    "missed-deadline": 2,
    "slow-rate": 1,
}
# It must be why most of it is there: what explains a tenth of a section leaves the rest to be said.
EXPLAINED_SHARE = 0.5


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings: numbers that cannot be, then by kind, severity and saving. Of equal ones the order stays.

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
