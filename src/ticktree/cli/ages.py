"""How long ago something was."""

from __future__ import annotations


def ago(seconds: float) -> str:
    """Return how long ago that is, in the largest unit that fits: "3 days ago", "just now"."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
