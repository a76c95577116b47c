"""What is done for a program while it runs, by its supervisor: its facts, its folds to disk, summaries."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ticktree.cli.screen import one_line, show_at_once, view_options
from ticktree.run.directory import RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.run.supervision.program import Program

FOLD_EVERY_S = 30.0
# For processes that have ended and left their files: a look at a directory.
LOOK_EVERY_S = 2.0
# Reading takes time from the program where all cores are busy: at most a fifth of one core.
REST_PER_CHORE = 4


@dataclass
class _Chore:
    do: Callable[[], None]
    every_s: float
    due_s: float


class Chores:
    """Keeps the run's files, its facts once and what was recorded every now and then, and prints summaries.

    Args:
        run: where the program is recorded.
        program: what runs.
        summary_every_s: how often to print the tree; None for never.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        run: RunDirectory,
        program: Program,
        summary_every_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._program = program
        self._clock = clock
        self._began_s = clock()
        self._chores = [
            _Chore(self._describe, math.inf, self._began_s),
            _Chore(self._fold_finished, LOOK_EVERY_S, self._began_s + LOOK_EVERY_S),
            _Chore(self._run.fold, FOLD_EVERY_S, self._began_s + FOLD_EVERY_S),
        ]
        if summary_every_s is not None:
            self._chores.append(_Chore(self._summarize, summary_every_s, self._began_s + summary_every_s))

    def __call__(self) -> float:
        """Do what is due, and return in how many seconds something will be again."""
        for chore in self._chores:
            began_s = self._clock()
            if chore.due_s <= began_s:
                # Whatever goes wrong here, a mistake of ours included, the program goes on. What cannot be
                # saved now may be at the end, and if it still cannot be then, that is said.
                with suppress(Exception):
                    chore.do()
                now_s = self._clock()
                chore.due_s = max(began_s + chore.every_s, now_s + REST_PER_CHORE * (now_s - began_s))
        return max(0.0, min(chore.due_s for chore in self._chores) - self._clock())

    def _describe(self) -> None:
        from ticktree.run.facts import describe_program  # slow to import, and now the program runs

        self._run.describe(describe_program(self._program.argv, self._program.folder))

    def _fold_finished(self) -> None:
        fold_if_many(self._run)

    def _summarize(self) -> None:
        show_at_once(self._summary(), sys.stderr)

    def _summary(self) -> bytes:
        from ticktree.outputs import OUTPUTS, formatting

        profile = self._run.profile()
        age = formatting.time((self._clock() - self._began_s) * 1e9)
        # On a line of its own, though the program may be in the middle of one.
        when = f"--- {time.strftime('%H:%M:%S')}, after {age}: {self._run.path.name} ---"
        if profile.root.children or profile.gauges:
            tree = OUTPUTS["terminal"].render(profile, view_options(sys.stderr))
        else:
            tree = b"Nothing is recorded yet: no section was entered.\n"
        return f"\n{one_line(when)}\n".encode() + tree + b"\n"
