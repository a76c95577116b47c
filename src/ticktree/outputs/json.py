"""The machine's view: the profile itself, as it is saved."""

from __future__ import annotations

from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return the profile as JSON and a newline."""
    return profile.to_json().encode() + b"\n"
