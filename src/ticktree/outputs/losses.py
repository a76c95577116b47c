"""What a view of a timeline must say is not in it."""

from __future__ import annotations

from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline

OVERWRITTEN = "calls before the timeline's first"


def lost(profile: Profile, timeline: Timeline) -> dict[str, int]:
    """Return, by what it is, how many were not recorded or are not kept; nothing where all is there."""
    found = {what.replace("_", " "): count for what, count in sorted(profile.losses.items()) if count}
    if timeline.overwritten:
        found[OVERWRITTEN] = timeline.overwritten
    return found
