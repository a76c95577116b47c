"""What ticktree says when it cannot go on."""

from __future__ import annotations


class TicktreeError(Exception):
    """A failure with one clear line for its user; the command line prints it and exits with status 2."""
