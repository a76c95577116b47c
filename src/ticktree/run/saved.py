"""A profile that ticktree has saved as JSON, read back."""

from __future__ import annotations

from pathlib import Path

from ticktree.files.guarded import MOST_OF_DATA, read_bytes, understood
from ticktree.profile import Profile, codec


def read_saved(path: Path) -> Profile:
    """Return the profile in a file of ticktree's own.

    Raises:
        TicktreeError: The file cannot be read or is not a valid profile.
    """
    content = read_bytes(path, MOST_OF_DATA)
    with understood(path):
        profile = Profile.from_value(codec.value_in(content))
        profile.check()
        return profile
