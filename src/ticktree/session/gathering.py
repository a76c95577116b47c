"""Gather the profiles of a job's other machines through the job's own store when its ranks end.

In each run, the rank with the lowest number puts the run's profile into the store; rank 0 waits a while and keeps
the profiles that arrive next to its own run, for `ticktree merge`. It uses the store and not a collective because
a collective needs every rank, in the same order: a rank that has died or taken another path would delay the end of
all others by half an hour. Here only rank 0 waits, for some seconds, and a profile that is late is on its own
machine's disk.
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

# How many seconds rank 0 waits at its end for the other profiles; 0 turns gathering off.
WITHIN_VARIABLE = "TICKTREE_GATHER_WITHIN"
_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


def gather(run: RunDirectory, store: Any, rank: int, runs: Sequence[str]) -> None:
    """Put this run's profile into the job's store, or on rank 0 keep the others' profiles.

    Args:
        run: This rank's run.
        store: The job's store, from torch.distributed.
        rank: This rank's number.
        runs: A unique name of the run of each rank.
    """
    within_s = _within_s()
    if within_s <= 0:
        return
    others = [other for other in dict.fromkeys(runs) if other != runs[0]]
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
            # The name of a run ends with its memory directory, which is named by the run's id.
            keep(run, other.rpartition("/")[2], store.get(_key(other)))
        if missing:
            time.sleep(_LOOK_EVERY_S)


def _key(run: str) -> str:
    return f"ticktree/profile/{hashlib.sha256(run.encode()).hexdigest()[:16]}"


def _within_s() -> float:
    with suppress(ValueError):
        return float(os.environ.get(WITHIN_VARIABLE, _WITHIN_S))
    return _WITHIN_S
