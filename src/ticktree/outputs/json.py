"""The machine's view: the profile as it is saved, and the findings about it."""

from __future__ import annotations

from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile
from ticktree.profile.codec import to_text


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return the profile as JSON and a newline. No analysis exists yet, so there are no findings."""
    return to_text(profile.to_dict()).encode() + b"\n"
