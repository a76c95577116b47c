"""Peers: which ranks of a job record into the same run, exchanged over the store that the job has anyway.

Never by a collective of our own: between the program's it would have to come at the same place on every rank, and one
that has died or gone another way would hold up all others. Setting a key waits for no other rank, and neither
does a look whether it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from ticktree.recorder import Recorder

_KEY = "ticktree/run/{}"
# After so many collectives all ranks have met, and have named their run before. Later, they never will.
_LOOKS = 3

# Called as a rank leaves its job, where its ranks are of several runs: with the job's store, this rank's number, and
# the run that each rank has named. What keeps runs puts itself here (session/gathering.py).
leaving: list[Callable[[Any, int, Sequence[str]], None]] = []
# Called as a rank has joined its job: with the job's store, this rank's number, and how many ranks there are.
joined: list[Callable[[Any, int, int], None]] = []


class Peers:
    """What is known of the other ranks.

    Args:
        recorder: what records.
    """

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
