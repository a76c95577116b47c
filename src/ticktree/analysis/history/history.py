"""History: how every section worth a look did, in every series of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from ticktree.analysis.history.changes import LEVEL, THRESHOLD
from ticktree.analysis.history.series import Series, grouped
from ticktree.analysis.history.trend import Asked, Trend, trend_of
from ticktree.errors import TicktreeError
from ticktree.profile import path as paths
from ticktree.profile.remembered import Remembered

SCHEMA = "ticktree-history/1"

# A section that never took as much of its run is not looked at, unless it is asked for: each one more makes it harder
# for the others to stand out.
_LEAST_SHARE = 0.01


class Commit(NamedTuple):
    """What the program's repository says of a commit.

    Attributes:
        subject: the first line of its message.
        after: how many commits there are from the one that ran before it up to this, itself included; None where that
            is not known.
    """

    subject: str
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a series.

    Attributes:
        series: its runs.
        trends: loops first, then sections in the order of the tree.
    """

    series: Series
    trends: Sequence[Trend]

    @property
    def regressions(self) -> list[Trend]:
        """The trends with a regression that stands; none of a series that is past."""
        return [trend for trend in self.trends if self.series.is_current and trend.regressions]


@dataclass(frozen=True, slots=True)
class History:
    """Everything.

    Attributes:
        told: of each series, the one with the newest run first.
        statistic: of a section's calls in a run.
        threshold: the least shift that matters, as a part of 1.
        nodes: the paths that were asked for; none for what is worth a look.
        commits: what is known of them; filled in by who has the repository.
    """

    told: Sequence[Told]
    statistic: str
    threshold: float
    nodes: Sequence[str] = ()
    commits: Mapping[str, Commit] = field(default_factory=dict)

    @property
    def regressions(self) -> list[tuple[Series, Trend]]:
        """Every trend with a regression that stands."""
        return [(told.series, trend) for told in self.told for trend in told.regressions]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `history --format json` gives it."""
        return {
            "schema": SCHEMA,
            "statistic": self.statistic,
            "threshold_percent": 100 * self.threshold,
            "commits": {commit: known._asdict() for commit, known in self.commits.items()},
            "series": [
                {**told.series.to_dict(), "trends": [trend.to_dict() for trend in told.trends]}
                for told in self.told
            ],
        }


def history(
    runs: Iterable[Remembered],
    *,
    nodes: Sequence[str] = (),
    statistic: str = "mean",
    threshold: float = THRESHOLD,
    accepted: Sequence[str] = (),
    any_arguments: bool = False,
    everything: bool = False,
    last: int | None = None,
) -> History:
    """Return how the sections of a program did over its runs.

    Args:
        runs: in any order.
        nodes: paths of the sections to look at, or what a report shows of one; none for loops and whatever takes a
            hundredth of a run.
        statistic: which of `STATISTICS` of a section's calls is a run's value.
        threshold: the least shift that matters, as a part of 1.
        accepted: beginnings of commits whose changes were meant.
        any_arguments: whether runs of a program with other arguments are the same series.
        everything: whether to look at every section, however small.
        last: how many runs of each series to look at, the newest; None for all.

    Raises:
        TicktreeError: A section was asked for that no run has, or by what stands for several.
    """
    series = grouped(runs, any_arguments=any_arguments)
    if last is not None:
        series = [replace(one, runs=one.runs[-last:]) for one in series]
    nodes = _required(nodes, series)
    told = []
    for one in series:
        wanted = _wanted(one, nodes, statistic, everything)
        # Every trend is one more chance to be wrong: together they are wrong as seldom as one alone would be.
        asked = Asked(statistic, threshold, LEVEL / max(1, len(wanted)), accepted)
        trends = [trend_of(path, one.runs, asked) for path in wanted]
        trends.sort(key=lambda trend: not trend.is_loop)
        if trends or not nodes:
            told.append(Told(one, trends))
    return History(told, statistic, threshold, tuple(nodes))


def _wanted(series: Series, nodes: Sequence[str], statistic: str, everything: bool) -> list[str]:
    found: dict[str, bool] = {}
    for run in series.runs:
        for path, measure in run.measures.items():
            if measure.value(statistic) is not None:
                large = everything or measure.is_loop or measure.share >= _LEAST_SHARE
                found[path] = found.get(path, False) or large
    if nodes:
        return [path for path in dict.fromkeys(nodes) if path in found]
    return sorted((path for path, large in found.items() if large), key=paths.split)


def _required(nodes: Sequence[str], series: Sequence[Series]) -> list[str]:
    """Return the paths of the sections that were asked for."""
    if not nodes:
        return []
    known = {path for one in series for run in one.runs for path in run.measures}
    found = []
    for node in nodes:
        # A name with a slash is escaped in a path, and as it is where somebody has read it.
        likely = [node] if node in known else sorted(path for path in known if paths.plain(path) == node)
        if len(likely) > 1:
            raise TicktreeError(f"{node} stands for several sections; say which: {', '.join(likely)}")
        if not likely:
            near = get_close_matches(node, known, n=1) or get_close_matches(
                node, [path for path in known if path.endswith(node)], n=1, cutoff=0
            )
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TicktreeError(f"no run has a section {node}{hint}")
        found += likely
    return found
