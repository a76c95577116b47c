"""Ranks: what the ranks of a run say of the job that they are of, for its courier.

    MEMORY/rank-NUMBER.json

Written once by each, as it joins the job: on tmpfs, so that nobody waits for a disk.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MOST_OF_FACTS, FileError, json_in, read_bytes

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# That of torchrun: it starts all ranks anew where one has died, and may number them otherwise.
_ATTEMPT_VARIABLE = "TORCHELASTIC_RESTART_COUNT"


class Rank(NamedTuple):
    """One rank of a job.

    Attributes:
        number: Which.
        ranks: How many the job has.
        host: Where the job's store answers.
        port: And at which port.
        attempt: Which of the job's starts it is of.
    """

    number: int
    ranks: int
    host: str
    port: int
    attempt: str


def note_rank(run: RunDirectory, number: int, ranks: int, host: str, port: int) -> None:
    """Say which rank this process is.

    Raises:
        OSError: There is no room for it.
    """
    rank = Rank(number, ranks, host, port, os.environ.get(_ATTEMPT_VARIABLE, ""))
    write_atomically(run.memory_dir / f"rank-{number}.json", json.dumps(rank).encode(), follow=False)


def ranks_of(run: RunDirectory) -> tuple[Rank, ...]:
    """The ranks that have said so, those of the newest start, by their numbers."""
    found = []
    for path in run.memory_dir.glob("rank-*.json"):
        # Not there any more: the run was finished.
        with suppress(OSError, FileError, ValueError, TypeError):
            found.append((path.stat().st_mtime_ns, Rank(*json_in(read_bytes(path, MOST_OF_FACTS)))))
    newest = max(found)[1].attempt if found else ""
    return tuple(sorted(rank for _, rank in found if rank.attempt == newest))
