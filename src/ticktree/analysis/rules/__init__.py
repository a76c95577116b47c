"""Rules by topic, each with its thresholds and their reasons, and what rules share. docs/rules has a page for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ticktree.analysis.finding import Fact
from ticktree.analysis.loops import SectionView


def present(facts: Mapping[str, Fact | None]) -> dict[str, Fact]:
    """Return the facts without those that are None."""
    return {key: value for key, value in facts.items() if value is not None}


def longest(sections: Iterable[SectionView]) -> SectionView:
    """Return the section with the most time per tick; of several, the first."""
    return max(sections, key=lambda section: section.total_ns)
