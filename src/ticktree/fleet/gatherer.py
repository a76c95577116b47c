"""The store transport: during a job, it carries the profiles of other machines to the run of rank 0.

It is a process next to each machine's supervisor, and not part of the program: it reads the run's memory files from
outside, and has its own connection to the job's existing store. No rank waits for it, calls it or cooperates with it;
if it is killed or hangs, the job is not affected.
"""

from __future__ import annotations

import gzip
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ticktree.fleet.store_slots import Label, Rank, StoreSlot, connected, fetch, labels, ranks_of
from ticktree.profile import Profile
from ticktree.run.job import SoFar, expect, keep_so_far, note_so_far
from ticktree.run.reading import reader  # noqa: F401 - now, or importing would count as the cost of the first look
from ticktree.run.reading.image import DamagedError, Image

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# The pause if the store does not answer, as after the death of rank 0.
_AGAIN_AFTER_S = 10.0


class RankGatherer:
    """The transport of one run.

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
        self._rounds: _Keeping | _Carrying | None = None
        self._store: Any = None
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
            self._ranks, self._rounds, self._store, self._not_before_s = ranks, None, None, 0.0
            return 0.0
        if not ranks or len(ranks) == ranks[0].ranks or self._clock() < self._not_before_s:
            return 0.0  # no job yet, or all of it is in this run
        try:
            if self._store is None:
                self._store = self._connect(ranks[0].host, ranks[0].port)
            before_s = self._cost()
            self._rounds = self._rounds or self._begun()
            self._rounds.go(self._store)
            return self._cost() - before_s
        except BaseException:
            self._store = None
            self._not_before_s = self._clock() + _AGAIN_AFTER_S
            raise

    def _begun(self) -> _Keeping | _Carrying:
        numbers = tuple(rank.number for rank in self._ranks)
        return _Keeping(self._run) if 0 in numbers else _Carrying(self._run, numbers, self._every)


class _Carrying:
    def __init__(self, run: RunDirectory, ranks: tuple[int, ...], every: int) -> None:
        self._run = run
        self._ranks = ranks
        self._every = every
        self._carried = 0
        self._place: StoreSlot | None = None

    def go(self, store: Any) -> None:
        if self._place is None:
            self._place = StoreSlot(store, Label(self._run.id, platform.node(), self._ranks))
        # Count first, so that the profile has at least as many ticks.
        ticks = most_ticks(self._run)
        if 0 <= ticks - self._carried < self._every:  # fewer than before: recording was reset
            return
        so_far = self._run.profile().merge(Profile(metadata={"unfinished": frozenset([True])}))
        self._place.put(store, gzip.compress(so_far.to_json().encode(), compresslevel=6), ticks)
        self._carried = ticks


class _Keeping:
    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._kept: dict[str, tuple[int, int]] = {}
        self._noted: dict[str, SoFar] = {}

    def go(self, store: Any) -> None:
        noted = dict(self._noted)
        for place, label in labels(store).items():
            if label.run != self._run.id:
                self._keep(store, place, label, noted)
        if noted != self._noted:
            expect(self._run, len(noted))
            note_so_far(self._run, noted)
            self._noted = noted

    def _keep(self, store: Any, place: int, label: Label, noted: dict[str, SoFar]) -> None:
        before = noted.setdefault(label.run, SoFar(label.host, label.ranks))
        which = (place, label.version)
        if not label.version or self._kept.get(label.run) == which:
            return
        packed = fetch(store, place, label)
        if packed is not None:
            keep_so_far(self._run, label.run, packed)
            noted[label.run] = SoFar(label.host, label.ranks, label.ticks, time.time_ns())
        elif label.is_too_large():
            noted[label.run] = replace(before, too_large=label.size)
        else:
            return
        self._kept[label.run] = which


def most_ticks(run: RunDirectory) -> int:
    """Return the largest number of ticks of any loop in any process of a run, warm-up included."""
    most = 0
    for path in run.memory_files():
        with suppress(DamagedError):  # also missing, or not begun
            most = max(most, *(loop.ticks for _, loop in Image.of_file(path).loops()), 0)
    return most
