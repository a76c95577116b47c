"""The transport through a job's store: each run except that of rank 0 has a place there for its profile.

    ticktree/slots/runs                 the number of runs with a place
    ticktree/slots/PLACE                the label of a place, as JSON
    ticktree/slots/PLACE/SLOT/PIECE     the profile of a place, in pieces

A place alternates between two slots, and writes the label last: a concurrent reader finds the old profile whole, or
detects by its digest that it is not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, parse_json, read_bytes
from ticktree.fleet.transport import PublishedPart

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# The store handles one request at a time, and a job's ranks use it too.
PIECE_BYTES = 1 << 18
# The largest compressed profile of an unfinished run; the store holds two of them.
MOST_BYTES = 1 << 25
_COUNT = "ticktree/slots/runs"


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a place: which profile of which run it holds.

    Attributes:
        run: The id of the run.
        host: The run's machine.
        ranks: The run's ranks.
        ticks: Number of ticks in the profile, at least.
        version: The number of the profile in this place, from 1; 0 if there is none yet.
        size: The profile's size in bytes; one that `is_too_large` is not in the place.
        digest: The profile's SHA-256.
        is_last: Whether recording of the run has ended.
    """

    run: str
    host: str
    ranks: tuple[int, ...]
    ticks: int = 0
    version: int = 0
    size: int = 0
    digest: str = ""
    is_last: bool = False

    @classmethod
    def read(cls, text: bytes) -> Label:
        """Return the label that another machine has written.

        Raises:
            ValueError: The text is not a label.
        """
        fields = json.loads(text)
        try:
            label = cls(**{**fields, "ranks": tuple(map(int, fields["ranks"]))})
        except (TypeError, KeyError) as error:
            raise ValueError(str(error)) from None
        for field, kind in cls.__annotations__.items():
            if kind in ("int", "str", "bool") and type(getattr(label, field)).__name__ != kind:
                raise ValueError(field)
        return label

    def is_too_large(self) -> bool:
        """Return whether the profile is too large for a slot; the last one, which nothing replaces, never is."""
        return self.size > MOST_BYTES and not self.is_last


class StoreTransport:
    """Carries parts through a job's store. A part keeps its place there when the connection is made again.

    Args:
        connect: Connects to the store.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._store: Any = None
        self._place: int | None = None
        self._collected: dict[str, tuple[int, int]] = {}

    def connect(self) -> None:
        """Connect if there is no connection.

        Raises:
            Exception: The store does not answer.
        """
        if self._store is None:
            self._store = self._connect()

    def publish(self, part: PublishedPart, generation: int) -> None:
        """See `Transport`: each transport publishes one part."""
        label = Label(
            part.name,
            part.host,
            part.ranks,
            part.ticks,
            generation,
            part.size,
            hashlib.sha256(part.packed or b"").hexdigest(),
            part.is_last,
        )
        with self._connected() as store:
            if self._place is None:
                self._place = store.add(_COUNT, 1) - 1
            if part.packed is not None and not label.is_too_large():
                for key, offset in _pieces(self._place, label):
                    store.set(key, part.packed[offset : offset + PIECE_BYTES])
            store.set(_key(self._place), json.dumps(asdict(label)))

    def collect(self, *, only_last: bool = False) -> Iterator[PublishedPart]:
        """See `Transport`."""
        with self._connected() as store:
            for place, label in labels(store).items():
                version = (place, label.version)
                if self._collected.get(label.run) == version or (only_last and not label.is_last):
                    continue
                packed = fetch(store, place, label)
                if packed is not None or label.is_too_large() or not label.version:
                    yield PublishedPart(
                        label.run, label.host, label.ranks, label.ticks, label.is_last, label.size, packed
                    )
                    self._collected[label.run] = version

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        self.connect()
        try:
            yield self._store
        except Exception:
            self._store = None
            raise


def labels(store: Any) -> Mapping[int, Label]:
    """Return the labels of all places by place; for each run only the place that it took last.

    Args:
        store: The job's store, or one with the same methods.
    """
    # A place is counted a moment before it has its label.
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
    """Return the profile of a label; None if there is none, if it has just been replaced, or was too large."""
    if label.is_too_large() or not label.version:
        return None
    keys = [key for key, _ in _pieces(place, label)]
    if not store.check(keys):
        return None
    packed = b"".join(bytes(store.get(key)) for key in keys)
    return packed if hashlib.sha256(packed).hexdigest() == label.digest else None


def _key(place: int) -> str:
    return f"ticktree/slots/{place}"


def _pieces(place: int, label: Label) -> Iterator[tuple[str, int]]:
    """Yield the key of each piece, and its offset."""
    for number, offset in enumerate(range(0, label.size, PIECE_BYTES)):
        yield f"{_key(place)}/{label.version % 2}/{number}", offset


# The timeout for a store that does not answer; the program's own connection waits for half an hour.
_PATIENCE_S = 3.0


def address_of(store: Any) -> tuple[str, int]:
    """Return the host and port of a job's store.

    Args:
        store: The store of torch.distributed, possibly wrapped in others that prefix its keys.

    Raises:
        AttributeError: The store does not accept connections, as a file store.
    """
    while not isinstance(store, _kind()):
        store = store.underlying_store
    return store.host, store.port


def connected(host: str, port: int) -> Any:
    """Return a connection with a short timeout.

    Raises:
        Exception: The store does not answer.
    """
    patience = timedelta(seconds=_PATIENCE_S)
    return _kind()(host, port, is_master=False, timeout=patience, wait_for_workers=False)


def _kind() -> Any:
    return import_module("torch.distributed").TCPStore


# Set by torchrun, which restarts all ranks if one has died, and may renumber them.
_ATTEMPT_VARIABLE = "TORCHELASTIC_RESTART_COUNT"


# What the ranks of a run record about their job, for the transport:
#
#     MEMORY/rank-NUMBER.json
#
# Each rank writes one file when it joins the job: on tmpfs, so that no rank waits for a disk.


class Rank(NamedTuple):
    """One rank of a job.

    Attributes:
        number: The rank's number.
        ranks: Number of ranks of the job.
        host: Host of the job's store.
        port: Port of the job's store.
        attempt: The number of the job's start that the rank belongs to.
    """

    number: int
    ranks: int
    host: str
    port: int
    attempt: str


def note_rank(run: RunDirectory, number: int, ranks: int, host: str, port: int) -> None:
    """Record which rank this process is.

    Raises:
        OSError: There is no room for the file.
    """
    rank = Rank(number, ranks, host, port, os.environ.get(_ATTEMPT_VARIABLE, ""))
    write_atomically(run.memory_dir / f"rank-{number}.json", json.dumps(rank).encode(), follow=False)


def ranks_of(run: RunDirectory) -> tuple[Rank, ...]:
    """Return the recorded ranks of the job's newest start, by number."""
    ranks = []
    for path in run.memory_dir.glob("rank-*.json"):
        # The files may be gone: the run was finished.
        with suppress(OSError, FileError, ValueError, TypeError):
            ranks.append((path.stat().st_mtime_ns, Rank(*parse_json(read_bytes(path, MAX_FACTS_BYTES)))))
    newest = max(ranks)[1].attempt if ranks else ""
    return tuple(sorted(rank for _, rank in ranks if rank.attempt == newest))
