"""The rows of a training loop without sections."""

from __future__ import annotations

from collections import Counter


def rows(profile):
    """How often each row was called, before the first optimizer's step and in the ticks that its steps make."""
    counts = Counter({name: node.count for name, node in profile.root.children.items()})
    ticks = profile.root.children.get("train step")
    if ticks is not None:
        del counts["train step"]
        counts.update({name: node.count for name, node in ticks.children.items()})
    return dict(counts)
