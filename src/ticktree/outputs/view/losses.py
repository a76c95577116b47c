"""What a view of a timeline must say is not in it."""

from __future__ import annotations

from ticktree.profile import Profile
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, Timeline


def lost(profile: Profile, timeline: Timeline) -> dict[str, int]:
    """Return, by what it is, how many were not recorded or are not kept; nothing where all is there."""
    # Read after the profile, of a program that still runs.
    counts = {**profile.losses, BEFORE_THE_TIMELINE: timeline.overwritten}
    return {what.replace("_", " "): count for what, count in sorted(counts.items()) if count}
