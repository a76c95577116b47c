"""How many events a timeline is asked to hold: by the program's own word, or by the environment's."""

from __future__ import annotations

import os

from ticktree.errors import TicktreeError
from ticktree.recorder import TIMELINE_VARIABLE

# 24 bytes each: 12 MB a process, of memory that others need as well.
DEFAULT_EVENTS = 500_000


def events_of(asked: bool | int) -> int:
    """How many events `timeline=` asks for; True for as many as are kept by default.

    Raises:
        TicktreeError: It is less than none.
    """
    if asked is True:
        return DEFAULT_EVENTS
    if asked < 0:
        raise TicktreeError(f"a timeline of {asked} calls: give how many to keep, or True")
    return int(asked)


def events_of_environment() -> int:
    """How many TICKTREE_TIMELINE asks for: a number; 1 or any word for the default, 0 or nothing for none."""
    word = os.environ.get(TIMELINE_VARIABLE, "").strip()
    if word.isascii() and word.isdigit():
        return DEFAULT_EVENTS if int(word) == 1 else int(word)
    return DEFAULT_EVENTS if word else 0
