"""What is done for a program while it runs, by its supervisor: its facts, its folds to disk, summaries."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ticktree.cli.screen import show_at_once, view_options
from ticktree.errors import one_line
from ticktree.run.directory import RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.run.supervision.program import Program

if TYPE_CHECKING:
    import resource

    from ticktree.publishing.publisher import Publisher
    from ticktree.run.courier.process import CourierProcess
    from ticktree.run.machine.watch import Watch

FOLD_EVERY_S = 30.0
# For processes that have ended and left their files: a look at a directory.
LOOK_EVERY_S = 2.0
# Of what the machine does; a run of a minute has enough readings to tell a bad second from a bad machine.
SAMPLE_EVERY_S = 1.0
# Reading takes time from the program where all cores are busy: at most a fifth of one core.
REST_PER_CHORE = 4
# Who reads how busy the cores are must not make them so: at most a tenth of one, in CPU time. A reading takes less
# than a thousandth, and is not put off where it took long because all cores were busy: then it is needed most.
REST_PER_SAMPLE = 9


@dataclass
class _Chore:
    do: Callable[[], None]
    every_s: float
    due_s: float
    rest: int = REST_PER_CHORE
    cost: Callable[[], float] | None = None


class Chores:
    """Keeps the run's files, its facts once and what was recorded every now and then, and prints summaries.

    Args:
        run: where the program is recorded.
        program: what runs.
        summary_every_s: how often to print the tree; None for never.
        clock: seconds that never go back.
        publisher: what publishes it, once begun by itself; None for nothing.
        courier: what carries it to another machine, or from there, likewise.
    """

    def __init__(
        self,
        run: RunDirectory,
        program: Program,
        summary_every_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        publisher: Publisher | None = None,
        courier: CourierProcess | None = None,
    ) -> None:
        self._run = run
        self._program = program
        self._clock = clock
        self._began_s = clock()
        self._watch: Watch | None = None
        self._courier = courier
        self._chores = [
            _Chore(self._sample, SAMPLE_EVERY_S, self._began_s, REST_PER_SAMPLE, time.process_time),
            _Chore(self._describe, math.inf, self._began_s),
            _Chore(self._prepare, math.inf, self._began_s),
            _Chore(self._fold_finished, LOOK_EVERY_S, self._began_s + LOOK_EVERY_S),
            _Chore(self._run.fold, FOLD_EVERY_S, self._began_s + FOLD_EVERY_S),
        ]
        if courier is not None:
            self._chores.append(_Chore(partial(courier.begin, run), math.inf, self._began_s))
        if publisher is not None:
            self._chores.append(_Chore(partial(publisher.begin, run), math.inf, self._began_s))
        if summary_every_s is not None:
            self._chores.append(_Chore(self._summarize, summary_every_s, self._began_s + summary_every_s))

    def __call__(self) -> float:
        """Do what is due, and return in how many seconds something will be again."""
        for chore in self._chores:
            began_s = self._clock()
            if chore.due_s <= began_s:
                # Whatever goes wrong here, a mistake of ours included, the program goes on. What cannot be
                # saved now may be at the end, and if it still cannot be then, that is said.
                cost = chore.cost or self._clock
                before_s = cost()
                with suppress(Exception):
                    chore.do()
                spent_s = cost() - before_s
                chore.due_s = max(began_s + chore.every_s, self._clock() + chore.rest * spent_s)
        return max(0.0, min(chore.due_s for chore in self._chores) - self._clock())

    def ended(self, used: resource.struct_rusage) -> None:
        """Note what the program has used, now that it has ended.

        Args:
            used: Of it and of the children it waited for.
        """
        with suppress(Exception):
            if self._courier is not None:
                self._courier.end()
        with suppress(Exception):
            if self._watch is not None:
                self._watch.end(round((used.ru_utime + used.ru_stime) * 1e9))

    def _sample(self) -> None:
        if self._watch is None:
            from ticktree.run.machine.watch import Watch

            owner = self._run.manifest.owner
            self._watch = Watch(self._run.memory_dir, f"{owner.pid}-{owner.started}-1")
        self._watch.sample()

    def _prepare(self) -> None:
        if self._watch is not None:
            self._watch.prepare()

    def _describe(self) -> None:
        from ticktree.run.facts import describe_program  # slow to import, and now the program runs

        self._run.describe(describe_program(self._program.argv, self._program.folder))

    def _fold_finished(self) -> None:
        fold_if_many(self._run)

    def _summarize(self) -> None:
        show_at_once(self._summary(), sys.stderr)

    def _summary(self) -> bytes:
        from ticktree.outputs import OUTPUTS
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
