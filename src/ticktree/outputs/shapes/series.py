"""Series: what windows honestly know of each section over the run's time, for formats that draw curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.profile import Node, Profile

_MS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One section's calls by the windows they ended in, in the order of time; windows without any are not there.

    Attributes:
        path: of the node.
        node: which one it is.
        width_ns: how long a window is.
        ends_ns: when each window ended, since the run began.
        counts: calls that ended in it.
        totals_ns: what they took.
    """

    path: str
    node: Node
    width_ns: int
    ends_ns: tuple[int, ...]
    counts: tuple[int, ...]
    totals_ns: tuple[int, ...]

    @property
    def means_ms(self) -> list[float]:
        """Mean duration of the calls that ended in each window."""
        return [total / count / _MS for total, count in zip(self.totals_ns, self.counts, strict=True)]


def series_of(profile: Profile) -> Iterator[Series]:
    """Yield the series of every section, by path; empty where not known. The root, which is no section, has none."""
    nodes = sorted(((path, node) for path, _, node in profile.root.walk() if path), key=lambda pair: pair[0])
    for path, node in nodes:
        windows = node.windows
        indices = sorted(windows.counts)
        yield Series(
            path=path,
            node=node,
            width_ns=windows.width_ns,
            ends_ns=tuple((index + 1) * windows.width_ns for index in indices),
            counts=tuple(windows.counts[index] for index in indices),
            totals_ns=tuple(windows.totals.get(index, 0) for index in indices),
        )


def end_of(profile: Profile) -> int:
    """Return when the last window of a profile ended, since the run began; 0 where none is known."""
    return max((series.ends_ns[-1] for series in series_of(profile) if series.ends_ns), default=0)
