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
# How often to search for the files of ended processes: it lists one directory.
SCAN_EVERY_S = 2.0
# How often to read the machine: a run of a minute has enough readings to tell a bad second from a bad machine.
SAMPLE_EVERY_S = 1.0
# If all cores are busy, tasks take time from the program: at most a fifth of one core.
REST_PER_TASK = 4
# Reading how busy the cores are must not make them busy: at most a tenth of one, in CPU time. A reading takes less
# than a thousandth. A reading that took long only because all cores were busy does not delay the next: then it is
# needed most.
REST_PER_SAMPLE = 9


@dataclass
class PeriodicTask:
    """Something to do at intervals.

    Attributes:
        do: the function to call.
        every_s: the interval; infinite to run once.
        due_s: when it is due next, in seconds after the start.
        rest: the shortest pause after a call, in multiples of the call's cost.
        cost: the clock that measures the cost; None for the supervisor's own.
    """

    do: Callable[[], object]
    every_s: float = math.inf
    due_s: float = 0.0
    rest: int = REST_PER_TASK
    cost: Callable[[], float] | None = None


class PeriodicTasks:
    """The tasks of a run: read the machine, collect the run's facts once, save the records, and any others.

    Args:
        run: the run that the program records into.
        program: the program.
        more: other tasks.
        at_end: functions to call when the program has ended.
        clock: a monotonic clock in seconds.
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
            PeriodicTask(lambda: fold_if_many(run), SCAN_EVERY_S, SCAN_EVERY_S),
            PeriodicTask(self._run.fold, FOLD_EVERY_S, FOLD_EVERY_S),
            *more,
        ]

    def __call__(self) -> float:
        """Do the tasks that are due, and return the seconds until the next is."""
        for task in self._tasks:
            began_s = self._now_s()
            if task.due_s <= began_s:
                # The program continues whatever fails here, even because of a bug in ticktree. If a save fails,
                # the one at the end may succeed; if that fails, too, it is reported.
                cost = task.cost or self._clock
                before_s = cost()
                with suppress(Exception):
                    task.do()
                spent_s = cost() - before_s
                task.due_s = max(began_s + task.every_s, self._now_s() + task.rest * spent_s)
        return max(0.0, min(task.due_s for task in self._tasks) - self._now_s())

    def ended(self, used: resource.struct_rusage) -> None:
        """Record the resources that the ended program used.

        Args:
            used: Resources of the program and of the children it waited for.
        """
        for callback in self._at_end:
            with suppress(Exception):
                callback()
        with suppress(Exception):
            if self._watch is not None:
                self._watch.end(round((used.ru_utime + used.ru_stime) * 1e9))

    def _now_s(self) -> float:
        return self._clock() - self._began_s

    def _sample(self) -> None:
        if self._watch is None:
            from ticktree.supervisor.watch import Watch

            owner, began_ns = self._run.manifest.owner, self._run.manifest.began_ns
            self._watch = Watch(self._run.memory_dir, f"{owner.pid}-{owner.started}-1", began_ns)
        self._watch.sample()

    def _prepare(self) -> None:
        if self._watch is not None:
            self._watch.prepare()

    def _describe(self) -> None:
        from ticktree.run.facts import describe_program  # a slow import, while the program already runs

        self._run.describe(describe_program(self._program.argv, self._program.folder))
