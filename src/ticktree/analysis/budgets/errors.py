"""What is said of budgets that cannot be checked."""

from __future__ import annotations

from ticktree.errors import TicktreeError


class BudgetError(TicktreeError, ValueError):
    """A budget that says nothing that could be checked; always one line, naming where it stands."""


class NotMeasuredError(Exception):
    """A number that this run does not hold; its text says why."""
