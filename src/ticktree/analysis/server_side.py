"""The server's side of a round trip: the times that the server reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.loops import DOMINATES_SHARE, SectionView
from ticktree.profile.measures import REMOTE

# The children of a call whose server reported its time; docs/remote.md names them.
SERVER = "server"
NETWORK = "network"


@dataclass(frozen=True, slots=True)
class ServerSide:
    """The times that servers reported about round trips.

    Attributes:
        server_ns: the servers' time per tick, by their clocks.
        network_ns: the remaining time of the calls whose servers reported.
        longest: the innermost of the servers' sections, from the answer inwards, with at least half of its parent's
            time; the answer itself if there is none.
    """

    server_ns: float
    network_ns: float
    longest: SectionView

    @property
    def server_share(self) -> float:
        """The share of those calls that was the servers' time."""
        return self._share(self.server_ns)

    @property
    def longest_share(self) -> float:
        """The share of those calls that was the servers' longest section."""
        return min(1.0, self._share(self.longest.total_ns))

    def _share(self, ns: float) -> float:
        calls_ns = self.server_ns + self.network_ns
        return ns / calls_ns if calls_ns else 0.0


def has_server_time(section: SectionView) -> bool:
    """Return whether `section` is a call whose server reported its time."""
    return any(_is_remote(below, SERVER) for below in section.below)


def server_side(sections: Sequence[SectionView]) -> ServerSide | None:
    """Return the times that servers reported about the calls in `sections`; None if no server reported its time."""
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
    pending = [section]
    while pending:
        for below in pending.pop().below:
            if _is_remote(below, SERVER) or _is_remote(below, NETWORK):
                yield below
            elif below.node.clock != REMOTE:
                pending.append(below)


def _is_remote(section: SectionView, name: str) -> bool:
    return section.node.clock == REMOTE and section.name == name
