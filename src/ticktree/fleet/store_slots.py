"""Slots of a job's store: where each run but that of rank 0 leaves its part recorded so far.

    ticktree/slots/runs                 how many runs have a place
    ticktree/slots/PLACE                a label, as JSON
    ticktree/slots/PLACE/SLOT/PIECE     what it is of, in pieces

Two slots in turn, and the label last: a reader meanwhile finds the old one whole, or detects by its digest
that it is not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MOST_OF_FACTS, FileError, json_in, read_bytes

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# The store does one thing at a time, and a job's ranks use it too.
PIECE_BYTES = 1 << 18
# Packed, and of a run; the store holds two of them.
MOST_BYTES = 1 << 25
_COUNT = "ticktree/slots/runs"


@dataclass(frozen=True, slots=True)
class Label:
    """What lies in a place.

    Attributes:
        run: The id of the run.
        host: Its machine.
        ranks: Its ranks.
        ticks: How many ticks it had made, at least.
        version: The number of the profile in this place, from 1; 0: none yet.
        size: Its bytes; above MOST_BYTES it was too large.
        digest: Of these.
    """

    run: str
    host: str
    ranks: tuple[int, ...]
    ticks: int = 0
    version: int = 0
    size: int = 0
    digest: str = ""

    @classmethod
    def read(cls, text: bytes) -> Label:
        """Return what another machine has written.

        Raises:
            ValueError: It is no label.
        """
        fields = json.loads(text)
        try:
            label = cls(**{**fields, "ranks": tuple(map(int, fields["ranks"]))})
        except (TypeError, KeyError) as error:
            raise ValueError(str(error)) from None
        for field, kind in cls.__annotations__.items():
            if kind in ("int", "str") and type(getattr(label, field)).__name__ != kind:
                raise ValueError(field)
        return label

    def is_too_large(self) -> bool:
        """Whether there was more than a slot takes."""
        return self.size > MOST_BYTES


class StoreSlot:
    """A run's place, taken on a store and kept also where the connection to it is another.

    Args:
        store: The job's, or one like it.
        label: What is to be known of the run before anything lies there.
    """

    def __init__(self, store: Any, label: Label) -> None:
        self._label = label
        self._place = store.add(_COUNT, 1) - 1
        store.set(_key(self._place), json.dumps(asdict(label)))

    def put(self, store: Any, packed: bytes, ticks: int) -> None:
        """Leave there what was recorded so far, in place of what was there before.

        Args:
            store: The same, by whatever connection.
            packed: The profile.
            ticks: How many ticks had been made by then, at least.
        """
        digest = hashlib.sha256(packed).hexdigest()
        version = self._label.version + 1
        label = replace(self._label, ticks=ticks, version=version, size=len(packed), digest=digest)
        if not label.is_too_large():
            for key, at in _pieces(self._place, label):
                store.set(key, packed[at : at + PIECE_BYTES])
        store.set(_key(self._place), json.dumps(asdict(label)))
        self._label = label


def labels(store: Any) -> Mapping[int, Label]:
    """What lies where at this moment, of each run in the place that it took last.

    Args:
        store: The job's, or one like it.
    """
    # One is counted a moment before it has its label.
    keys = {place: _key(place) for place in range(store.add(_COUNT, 0))}
    if keys and not store.check(list(keys.values())):
        keys = {place: key for place, key in keys.items() if store.check([key])}
    newest: dict[str, tuple[int, Label]] = {}
    for place, text in zip(keys, store.multi_get(list(keys.values())) if keys else (), strict=True):
        with suppress(ValueError):
            label = Label.read(bytes(text))
            newest[label.run] = (place, label)
    return dict(newest.values())


def fetch(store: Any, place: int, label: Label) -> bytes | None:
    """Return what a label is of; None where another has just been put in its place, or it was too large."""
    if label.is_too_large():
        return None
    keys = [key for key, _ in _pieces(place, label)]
    if not store.check(keys):
        return None
    packed = b"".join(bytes(store.get(key)) for key in keys)
    return packed if hashlib.sha256(packed).hexdigest() == label.digest else None


def _key(place: int) -> str:
    return f"ticktree/slots/{place}"


def _pieces(place: int, label: Label) -> Iterator[tuple[str, int]]:
    """The key of each piece, and where it begins."""
    for number, at in enumerate(range(0, label.size, PIECE_BYTES)):
        yield f"{_key(place)}/{label.version % 2}/{number}", at


# For a store that answers no more: the program's own connection waits for half an hour.
_PATIENCE_S = 3.0


def address_of(store: Any) -> tuple[str, int]:
    """Where a job's store answers.

    Args:
        store: As torch.distributed has it, wrapped in others that put a prefix before its keys.

    Raises:
        AttributeError: It is none that others could connect to, as a file.
    """
    while not isinstance(store, _kind()):
        store = store.underlying_store
    return store.host, store.port


def connected(host: str, port: int) -> Any:
    """A connection, which gives up soon.

    Raises:
        Exception: The store does not answer.
    """
    patience = timedelta(seconds=_PATIENCE_S)
    return _kind()(host, port, is_master=False, timeout=patience, wait_for_workers=False)


def _kind() -> Any:
    return import_module("torch.distributed").TCPStore


# That of torchrun: it restarts all ranks where one has died, and may number them otherwise.
_ATTEMPT_VARIABLE = "TORCHELASTIC_RESTART_COUNT"


# Ranks: what the ranks of a run record about their job, for its transport.
#
#     MEMORY/rank-NUMBER.json
#
# Written once by each, as it joins the job: on tmpfs, so that no rank waits for a disk.


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
    """The ranks that have recorded it, those of the newest start, by their numbers."""
    found = []
    for path in run.memory_dir.glob("rank-*.json"):
        # Not there any more: the run was finished.
        with suppress(OSError, FileError, ValueError, TypeError):
            found.append((path.stat().st_mtime_ns, Rank(*json_in(read_bytes(path, MOST_OF_FACTS)))))
    newest = max(found)[1].attempt if found else ""
    return tuple(sorted(rank for _, rank in found if rank.attempt == newest))
