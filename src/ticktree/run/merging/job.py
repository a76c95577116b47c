"""Job: what the merged runs are parts of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One execution of a program on several machines: merged, its runs are one run.

    Attributes:
        id: what this run is called.
        keeps_writers: whether it is kept whose each part is: with it, a profile grows with every process.
    """

    id: str
    keeps_writers: bool = True

    @classmethod
    def of(cls, sources: Sequence[Path], name: str | None = None, *, keeps_writers: bool = True) -> Job:
        """Return a job that is called the same whenever the same is merged, whatever the order.

        Args:
            sources: what is merged.
            name: what to call it; None for "job".
            keeps_writers: see `Job`.
        """
        every = "\0".join(sorted(str(source.absolute()) for source in sources))
        digest = hashlib.sha256(every.encode(errors="surrogateescape")).hexdigest()
        return cls(f"{name or 'job'}-{digest[:_DIGITS]}", keeps_writers)
