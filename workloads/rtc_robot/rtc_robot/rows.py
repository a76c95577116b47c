"""The table of rows that users of such loops know: calls, mean, min, max, of everything recorded under a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ticktree import Profile

# In the order in which a chunk meets them; what a run does not have is left out.
ROWS = (
    "robot.get_observation",
    "get_actions.preprocessing",
    "get_actions.policy_inference",
    "rtc.guidance_computation",
    "rtc.denoise",
    "get_actions.postprocessing",
    "get_actions.action_queue_merge",
    "robot.send_action",
)
HEAD = f"{'':<34} {'calls':>6} {'total s':>8} {'mean ms':>8} {'p50 ms':>8} {'min ms':>8} {'max ms':>8}"


@dataclass(frozen=True, slots=True)
class Row:
    """What all calls of one name took, wherever in the tree they were made; milliseconds."""

    name: str
    calls: int
    total: float
    p50: float
    least: float
    most: float

    @property
    def mean(self) -> float:
        """Of a call."""
        return self.total / self.calls

    def __str__(self) -> str:
        numbers = f"{self.mean:>8.2f} {self.p50:>8.2f} {self.least:>8.2f} {self.most:>8.2f}"
        return f"{self.name:<34} {self.calls:>6} {self.total / 1000:>8.2f} {numbers}"


def row(profile: Profile, name: str, below: str = "", *, steady: bool = False) -> Row | None:
    """Return the row of `name`; None where it was never recorded.

    Args:
        profile: what was recorded.
        name: of the section.
        below: count only what was recorded below this section.
        steady: leave the calls of a loop's warm-up out.
    """
    found = [
        node.steady if steady else node.stats
        for path, _, node in profile.root.walk()
        if node.name == name and (not below or below in path.split("/"))
    ]
    found = [stats for stats in found if stats.count]
    if not found:
        return None
    every = found[0]
    for more in found[1:]:
        every = every + more
    return Row(name, every.count, *map(_ms, (every.sum_ns, every.p50_ns, every.min_ns, every.max_ns)))


def table(
    profile: Profile, names: Iterable[str] = ROWS, below: str = "", *, steady: bool = False
) -> list[str]:
    """Return the lines of the table of `names`: those of them that there are."""
    rows = [row(profile, name, below, steady=steady) for name in names]
    return [HEAD, *(str(each) for each in rows if each is not None)]


def _ms(ns: float | None) -> float:
    return 0.0 if ns is None else ns / 1e6
