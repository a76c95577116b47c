"""What the model says when it is asked to hold something that cannot be."""

from __future__ import annotations

from ticktree.errors import TicktreeError


class ProfileError(TicktreeError, ValueError):
    """A profile that breaks a rule of the model, or a text that is not a profile; always one line."""


def quoted(text: str) -> str:
    """Return `text` fit for an error message: on one line, without control characters, at most 80 long."""
    return repr(text if len(text) <= 80 else text[:79] + "…")
