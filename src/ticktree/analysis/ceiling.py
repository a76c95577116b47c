"""The speed at which this machine copies memory, as the run's metadata has it."""

from __future__ import annotations

from ticktree.profile import Profile

MEMCPY = "ceiling.memcpy_bytes_per_s"


def memcpy_bytes_per_s(profile: Profile) -> float | None:
    """Return the speed of a plain copy; of several machines the slowest's, and None where it is not known."""
    known = [
        value for value in profile.metadata.get(MEMCPY, ()) if isinstance(value, (int, float)) and value > 0
    ]
    return float(min(known)) if known else None
