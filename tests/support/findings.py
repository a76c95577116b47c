"""Findings as users read them: with their sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree import analysis
from ticktree.analysis import Finding, Settings
from ticktree.analysis.third_party import Rule
from ticktree.outputs.sentences import with_sentences
from ticktree.profile import Profile
from ticktree.profile.short_names import ShortNames


def findings(
    profile: Profile, settings: Settings | None = None, rules: Sequence[Rule] | None = None
) -> list[Finding]:
    """What the rules find, all of them or those given."""
    return with_sentences(analysis.findings(profile, settings, rules), ShortNames(profile.root))
