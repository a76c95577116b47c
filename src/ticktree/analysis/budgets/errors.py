"""What is said of budgets that cannot be checked."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ticktree.errors import TicktreeError


class BudgetError(TicktreeError, ValueError):
    """A budget that says nothing that could be checked; always one line, naming where it stands."""


class NotMeasuredError(Exception):
    """A number that this run does not hold; its text says why."""


def perhaps(word: str, known: Iterable[str]) -> str:
    """What was probably meant, as the end of a sentence; "" where nothing known is like it."""
    likely = get_close_matches(word, list(known), n=1)
    return f"; did you mean {likely[0]!r}?" if likely else ""
