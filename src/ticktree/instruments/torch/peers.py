"""Peers: which ranks of a job record into the same run, and arrivals: which of them came to which collective.

Each rank says its run over the store that the job has anyway, never by a collective of our own: between the program's
it would have to come at the same place on every rank, and one that has died or gone another way would hold up all
others. Setting a key waits for no other rank, and neither does a look whether it is there.
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
# After so many collectives all ranks have met, and have named their run before. Later, they never will.
_LOOKS = 3

# Called as a rank leaves its job, where its ranks are of several runs: with the job's store, this rank's number, and
# the run that each rank has named. What keeps runs puts itself here (session/gathering.py).
leaving: list[Callable[[Any, int, Sequence[str]], None]] = []
# Called as a rank has joined its job: with the job's store, this rank's number, and how many ranks there are.
joined: list[Callable[[Any, int, int], None]] = []


class Peers:
    """What is known of the other ranks."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._module: ModuleType | None = None
        self._looks = _LOOKS
        self._runs: Sequence[str] = ()
        self._share_run = False

    def greet(self, module: ModuleType) -> None:
        """Say in which run this rank is; `module` is torch.distributed.distributed_c10d with its group made."""
        self._module, self._looks, self._runs, self._share_run = module, _LOOKS, (), False
        try:
            module._get_default_store().set(_KEY.format(module.get_rank()), self._run())
        except Exception:  # a store that is gone: then no straggler is named, and nothing else happens
            self._looks = 0
        with suppress(Exception):
            store, rank, ranks = module._get_default_store(), module.get_rank(), module.get_world_size()
            for tell in joined:
                tell(store, rank, ranks)

    def share_run(self) -> bool:
        """Whether all ranks are known to record into one run, and so see each other's signals."""
        if self._looks and not self._runs:
            self._looks -= 1
            self._runs = self._look()
            self._share_run = set(self._runs) == {self._run()}
        return self._share_run

    def leave(self) -> None:
        """Call `leaving` once, as this rank is about to leave its group."""
        # A rank that had few collectives may have looked too early; by now all have named it.
        runs = self._runs or (self._look() if self._looks else ())
        module = self._module
        self._module, self._runs, self._share_run = None, (), False
        if module is None or len(set(runs)) < 2:
            return
        with suppress(Exception):  # a failure here is not the program's
            store, rank = module._get_default_store(), module.get_rank()
            for tell in leaving:
                tell(store, rank, runs)

    def _look(self) -> Sequence[str]:
        try:
            if self._module is None:
                return ()
            store = self._module._get_default_store()
            keys = [_KEY.format(rank) for rank in range(self._module.get_world_size())]
            return [store.get(key).decode() for key in keys] if store.check(keys) else ()
        except Exception:
            self._looks = 0
            return ()

    def _run(self) -> str:
        """The same for all processes whose signals are in one file."""
        path = self._recorder.path
        folder = os.path.dirname(os.fspath(path)) if path is not None else f"process {os.getpid()}"  # noqa: PTH120
        return f"{os.uname().nodename}:{folder}"


# A rank that does not wait, as the root of a broadcast, may be some collectives ahead: its signal of a later one must
# not be taken for one of this.
_APART = 16


class Arrival(NamedTuple):
    """That this rank has come to a collective.

    Attributes:
        key: what distinguishes this collective from those shortly before and after; None where others cannot
            read this rank's signals: the last of those that can be read need not be the last to arrive.
        of: what to add to the name of the row: "" where all ranks meet, else how many of them do.
    """

    key: tuple[str, int] | None
    of: str


class Arrivals:
    """The collectives of each group, counted: all of its ranks call them in the same order."""

    def __init__(self, recorder: Recorder) -> None:
        self.channel = Channel(recorder, "collective")
        self.peers = Peers(recorder)
        self._calls: dict[str, int] = {}

    def arrive(self, group: Any = None) -> Arrival | None:
        """Signal that this rank has arrived at the next collective of a group; return None where it is not of it."""
        world = sys.modules["torch.distributed.distributed_c10d"].GroupMember.WORLD
        if group is None:
            group = world
        name = getattr(group, "group_name", None)
        if not isinstance(name, str):
            return None
        shares = self.peers.share_run()
        number = self._calls[name] = self._calls.get(name, -1) + 1
        of = "" if group is world else f" ({group.size()} of {world.size()} ranks)"
        if not shares:
            return Arrival(None, of)
        key = (name, number % _APART)
        self.channel.wakes(key)
        return Arrival(key, of)
