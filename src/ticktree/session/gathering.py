"""Gathering: the profiles of a job's other machines, over its own store, as its ranks leave it.

Of each run one rank, the one with the lowest number, puts what was recorded of it into the store; rank 0 waits a while
and keeps what has come next to its own run, for `ticktree merge`. Why a store and no collective: a collective
needs every rank, in the same order; one that has died, or has gone another way, would hold up the end of all
others for half an hour. Here only rank 0 waits, for some seconds, and what does not come in time is on its
own machine's disk.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ticktree.fleet.store_slots import address_of, connected
from ticktree.run.job import expect, keep

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# How many seconds rank 0 waits at its end for those of others; 0 gathers nothing.
WITHIN_VARIABLE = "TICKTREE_GATHER_WITHIN"
_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


def gather(run: RunDirectory, store: Any, rank: int, runs: Sequence[str]) -> None:
    """Put this run's profile into the job's store, or on rank 0 keep those of the others.

    Args:
        run: This rank's.
        store: The job's, as torch.distributed has it.
        rank: This rank's number.
        runs: What tells the run of each rank from others.
    """
    within_s = _within_s()
    if within_s <= 0:
        return
    others = [each for each in dict.fromkeys(runs) if each != runs[0]]
    if rank == 0:
        expect(run, len(others))
        _keep(run, connected(*address_of(store)), others, within_s)
    elif runs[rank] != runs[0] and runs.index(runs[rank]) == rank:
        packed = gzip.compress(run.profile().to_json().encode(), compresslevel=6)
        connected(*address_of(store)).set(_key(runs[rank]), packed)


def _keep(run: RunDirectory, store: Any, others: Sequence[str], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    missing = list(others)
    while missing and time.monotonic() < deadline:
        for other in [other for other in missing if store.check([_key(other)])]:
            missing.remove(other)
            # What ranks say of their run ends with its memory directory, which is called by its id.
            keep(run, other.rpartition("/")[2], store.get(_key(other)))
        if missing:
            time.sleep(_LOOK_EVERY_S)


def _key(run: str) -> str:
    return f"ticktree/profile/{hashlib.sha256(run.encode()).hexdigest()[:16]}"


def _within_s() -> float:
    with suppress(ValueError):
        return float(os.environ.get(WITHIN_VARIABLE, _WITHIN_S))
    return _WITHIN_S
