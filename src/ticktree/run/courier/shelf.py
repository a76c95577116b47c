"""The shelf: where in a job's store each run but that of rank 0 leaves what it has recorded so far.

    ticktree/shelf/runs                 how many runs have a place
    ticktree/shelf/PLACE                a label, as JSON
    ticktree/shelf/PLACE/SLOT/PIECE     what it is of, in pieces

Two slots in turn, and the label last: who reads meanwhile finds the old one whole, or sees by its digest that it is
not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

# The store does one thing at a time, and a job's ranks use it too.
PIECE_BYTES = 1 << 18
# Packed, and of a run; the store holds two of them.
MOST_BYTES = 1 << 25
_COUNT = "ticktree/shelf/runs"


@dataclass(frozen=True, slots=True)
class Label:
    """What lies in a place.

    Attributes:
        run: The id of the run.
        host: Its machine.
        ranks: Its ranks.
        ticks: How many ticks it had made, at least.
        turn: Which it is of those that lay there, from 1; 0: nothing yet.
        size: Its bytes; above MOST_BYTES it was too large.
        digest: Of these.
    """

    run: str
    host: str
    ranks: tuple[int, ...]
    ticks: int = 0
    turn: int = 0
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
        """Whether there was more than the shelf takes."""
        return self.size > MOST_BYTES


class Place:
    """A run's place.

    Args:
        store: The job's, or one like it.
        label: What is to be known of the run before anything lies there.
    """

    def __init__(self, store: Any, label: Label) -> None:
        self._store = store
        self._label = label
        self._place = store.add(_COUNT, 1) - 1
        store.set(_key(self._place), json.dumps(asdict(label)))

    def put(self, packed: bytes, ticks: int) -> None:
        """Leave there what was recorded so far, in place of what was there before.

        Args:
            packed: The profile.
            ticks: How many ticks had been made by then, at least.
        """
        digest = hashlib.sha256(packed).hexdigest()
        turn = self._label.turn + 1
        label = replace(self._label, ticks=ticks, turn=turn, size=len(packed), digest=digest)
        if not label.is_too_large():
            for key, at in _pieces(self._place, label):
                self._store.set(key, packed[at : at + PIECE_BYTES])
        self._store.set(_key(self._place), json.dumps(asdict(label)))
        self._label = label


class Shelf:
    """All places, as rank 0's courier sees them.

    Args:
        store: The job's, or one like it.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._labelled: list[int] = []

    def labels(self) -> Sequence[tuple[int, Label]]:
        """What lies where at this moment."""
        for place in range(self._store.add(_COUNT, 0)):
            if place not in self._labelled and self._store.check([_key(place)]):
                self._labelled.append(place)
        found = []
        texts = self._store.multi_get([_key(place) for place in self._labelled]) if self._labelled else []
        for place, text in zip(self._labelled, texts, strict=True):
            with suppress(ValueError):
                found.append((place, Label.read(bytes(text))))
        return found

    def fetch(self, place: int, label: Label) -> bytes | None:
        """Return what a label is of; None where another has just been put in its place, or it was too large."""
        if label.is_too_large():
            return None
        keys = [key for key, _ in _pieces(place, label)]
        if not self._store.check(keys):
            return None
        packed = b"".join(bytes(self._store.get(key)) for key in keys)
        return packed if hashlib.sha256(packed).hexdigest() == label.digest else None


def _key(place: int) -> str:
    return f"ticktree/shelf/{place}"


def _pieces(place: int, label: Label) -> Iterator[tuple[str, int]]:
    """The key of each piece, and where it begins."""
    for number, at in enumerate(range(0, label.size, PIECE_BYTES)):
        yield f"{_key(place)}/{label.turn % 2}/{number}", at
