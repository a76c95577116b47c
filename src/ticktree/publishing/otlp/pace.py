"""When to send next: at an even pace, and after a failure sooner at first and then ever more seldom."""

from __future__ import annotations

import random
from collections.abc import Callable

from ticktree.publishing.otlp.client import Outcome

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_LONGEST_ASKED_S = 3600.0


class Pace:
    """The moments at which to send. All sums are sent each time, so what was missed is not sent later.

    Args:
        every_s: how often to send.
        began_s: when the first period began.
        lot: a number from 0 to 1, so that a fleet does not try again all at once.
    """

    def __init__(self, every_s: float, began_s: float, lot: Callable[[], float] = random.random) -> None:
        self._every_s = every_s
        self._began_s = began_s
        self._lot = lot
        self._failures = 0
        self.due_s = began_s + every_s

    def sent(self, now_s: float, outcome: Outcome) -> None:
        """Note what came of a request that has ended now, and when the next one is due."""
        passed = (now_s - self._began_s) // self._every_s
        next_s = self._began_s + (passed + 1) * self._every_s  # those it took the time of are left out
        if not outcome.trouble:
            self._failures = 0
            self.due_s = next_s
            return
        pause_s = min(_FIRST_PAUSE_S * 2**self._failures, _LONGEST_PAUSE_S) * (1 + self._lot()) / 2
        self._failures = min(self._failures + 1, 10)
        again_s = now_s + max(pause_s, min(outcome.retry_after_s, _LONGEST_ASKED_S))
        # What the collector will not take now, it will not take a second later.
        self.due_s = again_s if outcome.is_passing else max(again_s, next_s)
