"""Variant: one of several runs that are shown side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.headline import title
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the runs.

    Attributes:
        label: what to call it beside the others; safe to show, and no other's.
        seen: its profile.
    """

    label: str
    seen: Survey

    @property
    def profile(self) -> Profile:
        """What was recorded of it."""
        return self.seen.profile


def variants(named: Sequence[tuple[str, Profile]], options: ViewOptions) -> list[Variant]:
    """Return runs as variants, each with a name that tells it from the others.

    Args:
        named: what a run was asked for by, and its profile.
        options: how to judge them.
    """
    surveys = [Survey(profile, options.settings) for _, profile in named]
    return [Variant(label, seen) for label, seen in zip(_labels(named), surveys, strict=True)]


def _labels(named: Sequence[tuple[str, Profile]]) -> list[str]:
    """Return what the runs call themselves where that tells them apart, else what they were asked for by."""
    for names in ([title(profile) for _, profile in named], [visible(name) for name, _ in named]):
        if len(set(names)) == len(names):
            return names
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return labels
