"""Periodic tasks: what the supervisor does for a run while the program runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_if_many
from ticktree.supervisor.program import Program

if TYPE_CHECKING:
    import resource

    from ticktree.supervisor.watch import Watch

FOLD_EVERY_S = 30.0
# For processes that have ended and left their files: a look at a directory.
LOOK_EVERY_S = 2.0
# Of what the machine does; a run of a minute has enough readings to tell a bad second from a bad machine.
SAMPLE_EVERY_S = 1.0
# Reading takes time from the program where all cores are busy: at most a fifth of one core.
REST_PER_TASK = 4
# Reading how busy the cores are must not make them busy: at most a tenth of one, in CPU time. A reading takes
# less than a thousandth, and is not put off where it took long because all cores were busy: then it is needed
# most.
REST_PER_SAMPLE = 9


@dataclass
class PeriodicTask:
    """Something to do at intervals.

    Attributes:
        do: does it.
        every_s: the interval; infinite for once.
        due_s: when it is due next, in seconds after the start.
        rest: how many times as long as it took it rests at least.
        cost: the clock that measures how long it took; None for the supervisor's own.
    """

    do: Callable[[], None]
    every_s: float = math.inf
    due_s: float = 0.0
    rest: int = REST_PER_TASK
    cost: Callable[[], float] | None = None


class PeriodicTasks:
    """Reads the machine, collects the run's facts once, saves what was recorded, and runs other tasks.

    Args:
        run: where the program is recorded.
        program: what runs.
        more: what else to do.
        at_end: what to do when the program has ended.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        run: RunDirectory,
        program: Program,
        more: Iterable[PeriodicTask] = (),
        at_end: Iterable[Callable[[], None]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._program = program
        self._at_end = tuple(at_end)
        self._clock = clock
        self._began_s = clock()
        self._watch: Watch | None = None
        self._tasks = [
            PeriodicTask(self._sample, SAMPLE_EVERY_S, rest=REST_PER_SAMPLE, cost=time.process_time),
            PeriodicTask(self._describe),
            PeriodicTask(self._prepare),
            PeriodicTask(self._fold_finished, LOOK_EVERY_S, LOOK_EVERY_S),
            PeriodicTask(self._run.fold, FOLD_EVERY_S, FOLD_EVERY_S),
            *more,
        ]

    def __call__(self) -> float:
        """Do what is due, and return in how many seconds something will be again."""
        for task in self._tasks:
            began_s = self._now_s()
            if task.due_s <= began_s:
                # Whatever fails here, a mistake of ours included, the program continues. What cannot be
                # saved now may be at the end; if it still cannot be then, that is reported.
                cost = task.cost or self._clock
                before_s = cost()
                with suppress(Exception):
                    task.do()
                spent_s = cost() - before_s
                task.due_s = max(began_s + task.every_s, self._now_s() + task.rest * spent_s)
        return max(0.0, min(task.due_s for task in self._tasks) - self._now_s())

    def ended(self, used: resource.struct_rusage) -> None:
        """Note what the program has used, now that it has ended.

        Args:
            used: Of it and of the children it waited for.
        """
        for end in self._at_end:
            with suppress(Exception):
                end()
        with suppress(Exception):
            if self._watch is not None:
                self._watch.end(round((used.ru_utime + used.ru_stime) * 1e9))

    def _now_s(self) -> float:
        return self._clock() - self._began_s

    def _sample(self) -> None:
        if self._watch is None:
            from ticktree.supervisor.watch import Watch

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
