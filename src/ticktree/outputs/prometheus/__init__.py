"""Prometheus's text format: counters, gauges and histograms of a run, as it is at this moment."""

from __future__ import annotations

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.prometheus.families import Family, facts, families
from ticktree.outputs.prometheus.histograms import Durations
from ticktree.outputs.prometheus.text import text
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return every metric that the profile has a value of, in UTF-8; what was not measured has no series."""
    return text([*families(profile), facts(profile)])


__all__ = ["Durations", "Family", "families", "render", "text"]
