"""The far side of a round trip: what the other program said it did in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.loops import DOMINATES_SHARE, SectionView
from ticktree.profile.clock import REMOTE

# The rows under a call whose server told its own time, as docs/remote.md names them.
SERVER = "server"
NETWORK = "network"


@dataclass(frozen=True, slots=True)
class FarSide:
    """What servers said of the round trips that were made to them.

    Attributes:
        server_ns: what they took by their own clocks.
        network_ns: what is left of the calls that they told of.
        chief: the innermost of the servers' sections that is half or more of the one it is in, and so on from the
            whole answer inwards; the answer itself where none is.
    """

    server_ns: float
    network_ns: float
    chief: SectionView

    @property
    def told_ns(self) -> float:
        """The calls that servers told of, both sides together."""
        return self.server_ns + self.network_ns

    @property
    def server_share(self) -> float:
        """What part of those calls was the servers' own time."""
        return self.server_ns / self.told_ns if self.told_ns else 0.0

    @property
    def chief_share(self) -> float:
        """What part of those calls was the servers' longest section."""
        return min(1.0, self.chief.total_ns / self.told_ns) if self.told_ns else 0.0


def tells_of_a_server(section: SectionView) -> bool:
    """Tell whether `section` is a call whose server said how long it took."""
    return any(_is_remote(below, SERVER) for below in section.below)


def far_side(sections: Sequence[SectionView]) -> FarSide | None:
    """Return what servers said of the calls in `sections`; None where none said how long it took."""
    rows = [row for section in sections for row in _rows(section)]
    servers = [row for row in rows if row.name == SERVER]
    if not servers:
        return None
    chief = max(servers, key=lambda row: row.total_ns)
    while chief.below:
        longest = max(chief.below, key=lambda row: row.total_ns)
        if longest.total_ns < DOMINATES_SHARE * chief.total_ns:
            break
        chief = longest
    network_ns = sum(row.total_ns for row in rows if row.name == NETWORK)
    return FarSide(sum(row.total_ns for row in servers), network_ns, chief)


def _rows(section: SectionView) -> Iterator[SectionView]:
    """Yield the `server` and `network` rows in `section`, none of them within another one's answer."""
    waiting = [section]
    while waiting:
        for below in waiting.pop().below:
            if _is_remote(below, SERVER) or _is_remote(below, NETWORK):
                yield below
            elif below.node.clock != REMOTE:
                waiting.append(below)


def _is_remote(section: SectionView, name: str) -> bool:
    return section.node.clock == REMOTE and section.name == name
