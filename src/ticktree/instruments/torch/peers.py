"""Peers: the ranks of a job that record into the same run, and arrivals: of ranks at collectives.

Each rank names its run in the job's own store, never by a collective: that would have to run at the same point of the
program on every rank, and a rank that has died or taken another branch would block all others. Neither setting a key
nor checking for it waits for another rank.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

from ticktree.recorder import Channel, Recorder

_KEY = "ticktree/run/{}"
# After so many collectives all ranks have synchronized, and have named their run before. Later, they never will.
_MAX_READS = 3

# Called when a rank leaves its job, if its ranks record into several runs: with the job's store, this rank's number,
# and the run of each rank. The session registers here (session/gathering.py).
leaving: list[Callable[[Any, int, Sequence[str]], None]] = []
# Called when a rank has joined its job: with the job's store, this rank's number, and how many ranks there are.
joined: list[Callable[[Any, int, int], None]] = []


class Peers:
    """The other ranks and their runs."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._module: ModuleType | None = None
        self._reads_left = _MAX_READS
        self._runs: Sequence[str] = ()
        self._share_run = False

    def join(self, module: ModuleType) -> None:
        """Publish this rank's run; `module` is torch.distributed.distributed_c10d with its group initialized."""
        self._module, self._reads_left, self._runs, self._share_run = module, _MAX_READS, (), False
        try:
            module._get_default_store().set(_KEY.format(module.get_rank()), self._run_key())
        except Exception:  # the store is gone: then no straggler is named, and nothing else happens
            self._reads_left = 0
        with suppress(Exception):
            store, rank, ranks = module._get_default_store(), module.get_rank(), module.get_world_size()
            for callback in joined:
                callback(store, rank, ranks)

    def share_run(self) -> bool:
        """Return whether all ranks are known to record into one run, and so can read each other's signals."""
        if self._reads_left and not self._runs:
            self._reads_left -= 1
            self._runs = self._read_runs()
            self._share_run = set(self._runs) == {self._run_key()}
        return self._share_run

    def leave(self) -> None:
        """Call `leaving` once, before this rank leaves its group."""
        # A rank with few collectives may have read too early; by now all have published.
        runs = self._runs or (self._read_runs() if self._reads_left else ())
        module = self._module
        self._module, self._runs, self._share_run = None, (), False
        if module is None or len(set(runs)) < 2:
            return
        with suppress(Exception):  # a failure here is not the program's
            store, rank = module._get_default_store(), module.get_rank()
            for callback in leaving:
                callback(store, rank, runs)

    def _read_runs(self) -> Sequence[str]:
        try:
            if self._module is None:
                return ()
            store = self._module._get_default_store()
            keys = [_KEY.format(rank) for rank in range(self._module.get_world_size())]
            return [store.get(key).decode() for key in keys] if store.check(keys) else ()
        except Exception:
            self._reads_left = 0
            return ()

    def _run_key(self) -> str:
        """Return the same in all processes whose signals are in one file."""
        path = self._recorder.path
        folder = os.path.dirname(os.fspath(path)) if path is not None else f"process {os.getpid()}"  # noqa: PTH120
        return f"{os.uname().nodename}:{folder}"


# A rank that does not wait, such as the root of a broadcast, may be some collectives ahead: its signal for a later
# collective must not count for this one.
_DISTINCT_COLLECTIVES = 16


class Arrival(NamedTuple):
    """The arrival of this rank at a collective.

    Attributes:
        key: distinguishes this collective from those shortly before and after; None if others cannot read this
            rank's signals: the last of those that can be read need not be the last to arrive.
        suffix: of the row's name: "" for a collective of all ranks, otherwise how many take part.
    """

    key: tuple[str, int] | None
    suffix: str


class Arrivals:
    """Counts the collectives of each group: all of its ranks call them in the same order."""

    def __init__(self, recorder: Recorder) -> None:
        self.channel = Channel(recorder, "collective")
        self.peers = Peers(recorder)
        self._calls: dict[str, int] = {}

    def arrive(self, group: Any = None) -> Arrival | None:
        """Signal that this rank has arrived at the next collective of a group; return None if it is not a member."""
        world = sys.modules["torch.distributed.distributed_c10d"].GroupMember.WORLD
        if group is None:
            group = world
        name = getattr(group, "group_name", None)
        if not isinstance(name, str):
            return None
        shares_run = self.peers.share_run()
        number = self._calls[name] = self._calls.get(name, -1) + 1
        suffix = "" if group is world else f" ({group.size()} of {world.size()} ranks)"
        if not shares_run:
            return Arrival(None, suffix)
        key = (name, number % _DISTINCT_COLLECTIVES)
        self.channel.wakes(key)
        return Arrival(key, suffix)
