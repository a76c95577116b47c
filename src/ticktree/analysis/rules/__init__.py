"""Rules by topic, each with its thresholds and their reasons, and what rules share. docs/rules has a page for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ticktree.analysis.finding import Claim, Fact, Finding, Kind, Severity
from ticktree.analysis.loops import SectionView

Facts: TypeAlias = dict[str, Fact | None]


def finding(
    rule: str,
    path: str,
    facts: Mapping[str, Fact | None],
    claim: Claim | None = None,
    *,
    kind: Kind = "recommendation",
    severity: Severity = "info",
) -> Finding:
    """Return the finding of a rule about a node; facts that are None are left out."""
    known_facts = {key: value for key, value in facts.items() if value is not None}
    return Finding(rule=rule, path=path, facts=known_facts, claim=claim, kind=kind, severity=severity)


def longest(sections: Iterable[SectionView]) -> SectionView:
    """Return the section with the most time per tick; of several, the first."""
    return max(sections, key=lambda section: section.total_ns)
