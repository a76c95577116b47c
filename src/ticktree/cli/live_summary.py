"""`ticktree run --summary-every`: the tree so far, printed while the program runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ticktree.cli.screen import show_at_once, view_options
from ticktree.errors import one_line
from ticktree.run.finishing import RunDirectory


class LiveSummary:
    """Prints what a run has recorded so far on standard error.

    Args:
        run: what to print.
        clock: seconds that never go back.
    """

    def __init__(self, run: RunDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock = clock
        self._began_s = clock()

    def print(self) -> None:
        """Print it."""
        show_at_once(self._text(), sys.stderr)

    def _text(self) -> bytes:
        from ticktree.outputs import OUTPUTS  # slow to import, and now the program runs
        from ticktree.outputs.writing import formatting
        from ticktree.profile.machine import is_empty

        profile = self._run.profile()
        age = formatting.time((self._clock() - self._began_s) * 1e9)
        # On a line of its own, though the program may be in the middle of one.
        when = f"--- {time.strftime('%H:%M:%S')}, after {age}: {self._run.path.name} ---"
        if is_empty(profile):
            tree = b"Nothing is recorded yet: no section was entered.\n"
        else:
            tree = OUTPUTS["terminal"].render(profile, view_options(sys.stderr))
        return f"\n{one_line(when)}\n".encode() + tree + b"\n"
