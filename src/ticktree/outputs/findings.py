"""What a finding rests on, in words and numbers that are safe to show. Its sentence is in outputs/sentences."""

from __future__ import annotations

from ticktree.analysis import Finding
from ticktree.outputs.sentences.facts import formatted, unit_of
from ticktree.outputs.writing.visible import visible


def evidence(finding: Finding) -> list[str]:
    """Return what a finding rests on, piece by piece."""
    return [
        f"{formatted(key, value)} {visible(key.removesuffix(f'_{unit_of(key)}')).replace('_', ' ')}"
        for key, value in finding.facts.items()
        if not isinstance(value, (str, bool))
    ]
