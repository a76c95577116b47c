"""Gather the profiles of a job's other machines through the job's own store when its ranks end.

In each run, the rank with the lowest number puts the run's profile into the store; rank 0 waits a while and saves
the profiles that arrive next to its own run, for `ticktree merge`. It uses the store and not a collective because
a collective needs every rank, in the same order: a rank that has died or taken another path would delay the end of
all others by half an hour. Here only rank 0 waits, for some seconds, and a profile that is late is on its own
machine's disk.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ticktree.fleet.store import StoreTransport, address_of, connected
from ticktree.fleet.transport import PublishedPart, Transport
from ticktree.run.job import write_expected, write_final_profile

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# How many seconds rank 0 waits at its end for the other profiles; 0 turns gathering off.
WITHIN_VARIABLE = "TICKTREE_GATHER_WITHIN"
_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


def gather(run: RunDirectory, store: Any, rank: int, runs: Sequence[str]) -> None:
    """Put this run's profile into the job's store, or on rank 0 save the profiles of the other runs.

    Args:
        run: This rank's run.
        store: The job's store, from torch.distributed.
        rank: This rank's number.
        runs: A unique name of the run of each rank.
    """
    within_s = _within_s()
    if within_s <= 0:
        return
    # The name of a run ends with its memory directory, which is named by the run's id.
    ids = [name.rpartition("/")[2] for name in runs]
    transport = StoreTransport(lambda: connected(*address_of(store)))
    if rank == 0:
        other_ids = set(ids) - {ids[0]}
        write_expected(run, len(other_ids))
        _collect(run, transport, other_ids, within_s)
    elif ids[rank] != ids[0] and ids.index(ids[rank]) == rank:
        ranks = tuple(number for number, run_id in enumerate(ids) if run_id == ids[rank])
        part = PublishedPart(ids[rank], platform.node(), ranks)
        transport.publish(part.holding(run.profile(), is_last=True), 1)


def _collect(run: RunDirectory, transport: Transport, other_ids: Iterable[str], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    missing_ids = set(other_ids)
    while missing_ids and time.monotonic() < deadline:
        for part in transport.collect(only_last=True):
            if part.name in missing_ids:
                missing_ids.remove(part.name)
                if part.packed is not None:  # a transport may refuse what is too large
                    write_final_profile(run, part.name, part.packed)
        if missing_ids:
            time.sleep(_LOOK_EVERY_S)


def _within_s() -> float:
    with suppress(ValueError):
        return float(os.environ.get(WITHIN_VARIABLE, _WITHIN_S))
    return _WITHIN_S
