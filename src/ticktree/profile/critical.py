"""CriticalPlace: a stretch of the critical path, the chain of work that set the run's length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class CriticalPlace(NamedTuple):
    """Where the critical path went. A profile keeps the nanoseconds of each place, which merge by adding.

    Attributes:
        writer: id of the writer that everything else waited for.
        path: of the node it was in.
    """

    writer: str
    path: str


def problems(critical: Mapping[CriticalPlace, int]) -> Iterator[str]:
    """Yield each rule of the model that is broken here."""
    if min(critical.values(), default=1) < 1:
        yield "a place on the critical path took no time"
