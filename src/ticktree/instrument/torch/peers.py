"""Peers: whether all ranks of a job record into the same run, told over the store that the job has anyway.

Never by a collective of our own: between the program's it would have to come at the same place on every rank, and one
that has died or gone another way would hold up all others. To set a key waits for nobody, and to look whether it is
there neither.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_KEY = "ticktree/run/{}"
# After so many collectives all ranks have met, and have said before in which run they are. Later, they never will.
_LOOKS = 3


class Peers:
    """What is known of the other ranks.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._module: ModuleType | None = None
        self._looks = _LOOKS
        self._share_run = False

    def greet(self, module: ModuleType) -> None:
        """Say in which run this rank is; `module` is torch.distributed.distributed_c10d with its group made."""
        self._module, self._looks, self._share_run = module, _LOOKS, False
        try:
            module._get_default_store().set(_KEY.format(module.get_rank()), self._run())
        except Exception:  # a store that is gone: then nobody is named, and nothing else happens
            self._looks = 0

    def share_run(self) -> bool:
        """Whether all ranks are known to record into one run, and so see each other's signals."""
        if self._looks and not self._share_run:
            self._looks -= 1
            self._share_run = self._look()
        return self._share_run

    def _look(self) -> bool:
        try:
            if self._module is None:
                return False
            store = self._module._get_default_store()
            keys = [_KEY.format(rank) for rank in range(self._module.get_world_size())]
            return bool(store.check(keys)) and {store.get(key) for key in keys} == {self._run().encode()}
        except Exception:
            self._looks = 0
            return False

    def _run(self) -> str:
        """The same for all processes whose signals are in one file."""
        path = self._recorder.path
        folder = os.path.dirname(os.fspath(path)) if path is not None else f"process {os.getpid()}"  # noqa: PTH120
        return f"{os.uname().nodename}:{folder}"
