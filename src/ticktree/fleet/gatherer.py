"""The gatherer of a job's ranks: during a job, it carries the profiles of other machines to the run of rank 0.

It is a process next to each machine's supervisor, and not part of the program: it reads the run's memory files from
outside, and has its own connection to the job's existing store. No rank waits for it, calls it or cooperates with it;
if it is killed or hangs, the job is not affected.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ticktree.fleet.store import Rank, StoreTransport, connected, ranks_of
from ticktree.fleet.transport import PublishedPart, Transport
from ticktree.profile import Profile
from ticktree.run.job import (
    RankProgress,
    write_expected,
    write_final_profile,
    write_partial_profile,
    write_progress,
)
from ticktree.run.reading import reader  # noqa: F401 - now, or importing would count as the cost of the first look
from ticktree.run.reading.image import DamagedError, Image

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# The pause if the store does not answer, as after the death of rank 0.
_AGAIN_AFTER_S = 10.0


class RankGatherer:
    """Publishes one run's profile, or collects those of the others.

    Args:
        run: The run.
        every: Number of ticks between two uploads of the profile so far.
        connect: Connects to the job's store.
        clock: A monotonic clock in seconds.
        cost: Returns the CPU time of this process in seconds.
    """

    def __init__(
        self,
        run: RunDirectory,
        every: int,
        connect: Callable[[str, int], Any] = connected,
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.process_time,
    ) -> None:
        self._run = run
        self._every = every
        self._connect = connect
        self._clock = clock
        self._cost = cost
        self._ranks: tuple[Rank, ...] = ()
        self._transport: StoreTransport | None = None
        self._side = self._begin()
        self._not_before_s = 0.0

    def look(self) -> float:
        """Upload this run's profile if it is due, or on rank 0 keep the new profiles of others.

        Returns:
            CPU time that it took in seconds; importing torch and connecting, which happen once, do not count.

        Raises:
            Exception: The store does not answer, or a file cannot be read or written; the next call may succeed.
        """
        ranks = ranks_of(self._run)
        if ranks != self._ranks:  # more ranks may be about to register
            self._ranks, self._transport, self._not_before_s = ranks, None, 0.0
            return 0.0
        if not ranks or len(ranks) == ranks[0].ranks or self._clock() < self._not_before_s:
            return 0.0  # no job yet, or all of it is in this run
        try:
            if self._transport is None:
                self._transport = StoreTransport(partial(self._connect, ranks[0].host, ranks[0].port))
                self._side = self._begin()
            self._transport.connect()
            before_s = self._cost()
            self._side.go(self._transport)
            return self._cost() - before_s
        except BaseException:
            self._not_before_s = self._clock() + _AGAIN_AFTER_S
            raise

    def _begin(self) -> _Publishing | _Collecting:
        numbers = tuple(rank.number for rank in self._ranks)
        return _Collecting(self._run) if 0 in numbers else _Publishing(self._run, numbers, self._every)


class _Publishing:
    def __init__(self, run: RunDirectory, ranks: tuple[int, ...], every: int) -> None:
        self._run = run
        self._every = every
        self._part = PublishedPart(run.id, platform.node(), ranks)
        self._generations = 0

    def go(self, transport: Transport) -> None:
        if not self._generations:
            self._publish(transport, self._part)
        # Count first, so that the profile has at least as many ticks.
        ticks = most_ticks(self._run)
        if 0 <= ticks - self._part.ticks < self._every:  # fewer than before: recording was reset
            return
        so_far = self._run.profile().merge(Profile(metadata={"unfinished": frozenset([True])}))
        self._publish(transport, self._part.holding(so_far, ticks))
        self._part = self._part._replace(ticks=ticks)

    def _publish(self, transport: Transport, part: PublishedPart) -> None:
        transport.publish(part, self._generations)
        self._generations += 1


class _Collecting:
    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._parts: dict[str, RankProgress] = {}
        self._noted_parts: dict[str, RankProgress] = {}

    def go(self, transport: Transport) -> None:
        for part in transport.collect():
            if part.name != self._run.id:
                self._keep(part)
        if self._parts != self._noted_parts:
            write_expected(self._run, len(self._parts))
            write_progress(self._run, self._parts)
            self._noted_parts = dict(self._parts)

    def _keep(self, part: PublishedPart) -> None:
        before = self._parts.setdefault(part.name, RankProgress(part.host, part.ranks))
        if part.packed is not None:
            (write_final_profile if part.is_last else write_partial_profile)(
                self._run, part.name, part.packed
            )
            self._parts[part.name] = RankProgress(part.host, part.ranks, part.ticks, time.time_ns())
        elif part.size:
            self._parts[part.name] = replace(before, too_large=part.size)


def most_ticks(run: RunDirectory) -> int:
    """Return the largest number of ticks of any loop in any process of a run, warm-up included."""
    max_ticks = 0
    for path in run.memory_files():
        with suppress(DamagedError):  # also missing, or not begun
            max_ticks = max(max_ticks, *(loop.ticks for _, loop in Image.of_file(path).loops()), 0)
    return max_ticks
