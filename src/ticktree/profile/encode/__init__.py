"""The model as the objects JSON knows. Everything is in a fixed order, so equal profiles give equal text."""

from __future__ import annotations

from typing import Any

from ticktree.profile import metadata as meta
from ticktree.profile.encode.gauge import gauge_object
from ticktree.profile.encode.loop import loop_object
from ticktree.profile.encode.node import tree_object
from ticktree.profile.encode.writer import critical_list, writers_list
from ticktree.profile.profile import Profile

__all__ = ["dict_of"]


def dict_of(profile: Profile) -> dict[str, Any]:
    """Return `profile` as JSON objects, without its schema."""
    places = {key: place for place, key in enumerate(sorted(profile.writers))}
    result: dict[str, Any] = {
        "metadata": {key: meta.one_or_list(profile.metadata[key]) for key in sorted(profile.metadata)},
        "losses": dict(sorted(profile.losses.items())),
        "loops": [loop_object(profile.loops[path]) for path in sorted(profile.loops)],
        "gauges": {name: gauge_object(profile.gauges[name]) for name in sorted(profile.gauges)},
    }
    if profile.writers:
        result["writers"] = writers_list(profile.writers)
    if profile.critical:
        result["critical_path"] = critical_list(profile.critical, places)
    if profile.timeline_calls:
        result["timeline_calls"] = profile.timeline_calls
    return {**result, "tree": tree_object(profile.root, places)}  # last: it is written piece by piece
