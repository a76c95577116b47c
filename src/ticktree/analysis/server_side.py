"""The server's side of a round trip: the times that the server reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.loops import DOMINATES_SHARE, SectionView
from ticktree.profile.measures import REMOTE

# The rows under a call whose server reported its time, as docs/remote.md names them.
SERVER = "server"
NETWORK = "network"


@dataclass(frozen=True, slots=True)
class ServerSide:
    """What servers reported about round trips.

    Attributes:
        server_ns: their time by their own clocks, per tick.
        network_ns: the rest of the calls whose servers reported.
        longest: the innermost of the servers' sections that has half or more of its parent's time, from the whole
            answer inwards; the answer itself if there is none.
    """

    server_ns: float
    network_ns: float
    longest: SectionView

    @property
    def server_share(self) -> float:
        """What part of those calls was the servers' own time."""
        return self._share(self.server_ns)

    @property
    def longest_share(self) -> float:
        """What part of those calls was the servers' longest section."""
        return min(1.0, self._share(self.longest.total_ns))

    def _share(self, ns: float) -> float:
        calls_ns = self.server_ns + self.network_ns
        return ns / calls_ns if calls_ns else 0.0


def has_server_time(section: SectionView) -> bool:
    """Return whether `section` is a call whose server reported its time."""
    return any(_is_remote(below, SERVER) for below in section.below)


def server_side(sections: Sequence[SectionView]) -> ServerSide | None:
    """Return what servers reported about the calls in `sections`; None if no server reported its time."""
    rows = [row for section in sections for row in _rows(section)]
    servers = [row for row in rows if row.name == SERVER]
    if not servers:
        return None
    longest = max(servers, key=lambda row: row.total_ns)
    while longest.below:
        inner = max(longest.below, key=lambda row: row.total_ns)
        if inner.total_ns < DOMINATES_SHARE * longest.total_ns:
            break
        longest = inner
    network_ns = sum(row.total_ns for row in rows if row.name == NETWORK)
    return ServerSide(sum(row.total_ns for row in servers), network_ns, longest)


def _rows(section: SectionView) -> Iterator[SectionView]:
    """Yield the `server` and `network` rows in `section`, without those within another server's answer."""
    waiting = [section]
    while waiting:
        for below in waiting.pop().below:
            if _is_remote(below, SERVER) or _is_remote(below, NETWORK):
                yield below
            elif below.node.clock != REMOTE:
                waiting.append(below)


def _is_remote(section: SectionView, name: str) -> bool:
    return section.node.clock == REMOTE and section.name == name
