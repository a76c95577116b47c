"""The machine's view: the profile as it is saved, and the findings about it."""

from __future__ import annotations

from ticktree.analysis import findings
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile
from ticktree.profile.codec import to_text


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the profile and all findings about it as JSON and a newline."""
    found = [finding.to_dict() for finding in findings(profile, options.settings)]
    return to_text(profile.to_dict(found)).encode() + b"\n"
