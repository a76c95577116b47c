"""How parts of a run travel between machines: through a job's store (store.py), between actors (ray_transport.py)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ticktree.profile import Profile


class PublishedPart(NamedTuple):
    """What one machine has recorded so far.

    Attributes:
        name: The part's unique name: the id of its run.
        host: The machine.
        ranks: The ranks of a job in the part.
        ticks: Number of ticks in the profile, at least.
        is_last: Whether recording of the part has ended.
        size: Size of the profile in bytes, compressed; 0 if there is none yet.
        packed: The profile as gzipped JSON; None if there is none, or if it is too large for the transport.
    """

    name: str
    host: str = ""
    ranks: tuple[int, ...] = ()
    ticks: int = 0
    is_last: bool = False
    size: int = 0
    packed: bytes | None = None

    def holding(self, profile: Profile, ticks: int = 0, *, is_last: bool = False) -> PublishedPart:
        """Return the part with a newer profile."""
        packed = gzip.compress(profile.to_json().encode(), compresslevel=6, mtime=0)
        return self._replace(ticks=ticks, is_last=is_last, size=len(packed), packed=packed)


class Transport(Protocol):
    """Carries parts: each machine publishes its own, and the run's machine collects them.

    Neither call waits for the other side, which may be slow or dead.
    """

    def publish(self, part: PublishedPart, generation: int) -> None:
        """Replace what was published of a part.

        Args:
            part: The part.
            generation: The number of its profile, from 1; 0 announces a part that has no profile yet.

        Raises:
            Exception: The back end does not answer.
        """

    def collect(self, *, only_last: bool = False) -> Iterator[PublishedPart]:
        """Yield what was published since the last call: of each part its newest generation.

        Args:
            only_last: Leave out parts that are still recorded.

        Raises:
            Exception: The back end does not answer.
        """
