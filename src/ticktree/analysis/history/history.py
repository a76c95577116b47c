"""History: how every section worth a look did in every series of runs of one program on machines that are alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.analysis.comparison.entry import verdict_of
from ticktree.analysis.comparison.shift import between
from ticktree.analysis.history.changes import FEWEST, LEVEL, THRESHOLD, Change, changes
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.metadata import Value
from ticktree.profile.remembered import Remembered

# Series: runs that may be held against one another, in the order in which they began.
#
# A new laptop is no regression, and neither is a larger batch: only runs of one program, with the same arguments, on
# machines that are alike make a series.

# What a machine is known by: what decides how fast it is, and stays as it is when its kernel is updated. The host's
# name is no part of it: containers and cloud machines get a new one each time.
_MACHINE = ("cpu", "cores", "cores_usable", "gpus")
_COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Series:
    """Runs of one program on machines that are alike.

    Attributes:
        program: its command line; without arguments where any were taken for the same.
        machine: the facts that it is known by; empty where none is known.
        runs: oldest first, at least one.
        is_current: whether the program's newest run of all is among them: verdicts on others are of the past.
    """

    program: str
    machine: Mapping[str, Value]
    runs: Sequence[Remembered]
    is_current: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return what it is of, as `history --format json` gives it."""
        return {
            "program": self.program,
            "machine": dict(self.machine),
            "current": self.is_current,
            "runs": [
                {
                    "id": run.id,
                    "directory": run.folder,
                    "started_ns": run.started_ns,
                    "commit": run.commit or None,
                    "dirty": run.is_dirty,
                }
                for run in self.runs
            ],
        }


def grouped(runs: Iterable[Remembered], *, any_arguments: bool = False) -> list[Series]:
    """Return runs in series, the one with the newest run first.

    Args:
        runs: in any order.
        any_arguments: whether a program's arguments make no difference.
    """
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], list[Remembered]] = {}
    for run in sorted(runs, key=lambda run: (run.started_ns, run.id)):
        found.setdefault((_program(run, any_arguments), tuple(_machine(run).items())), []).append(run)
    series = [Series(program, dict(machine), each) for (program, machine), each in found.items()]
    series.sort(key=lambda one: one.runs[-1].started_ns, reverse=True)
    programs: set[str] = set()
    for at, one in enumerate(series):
        series[at] = replace(one, is_current=one.program not in programs)
        programs.add(one.program)
    return series


def _machine(run: Remembered) -> dict[str, Value]:
    return {key: run.facts[key] for key in _MACHINE if key in run.facts}


def _program(run: Remembered, any_arguments: bool) -> str:
    command = str(run.facts.get(_COMMAND, run.facts.get("name", "")))
    if not any_arguments:
        return command
    with suppress(ValueError):  # it need not be a command line of ours
        words = shlex.split(command)
        return shlex.join(words[:2] if words[:1] == ["-m"] else words[:1])
    return command


Verdict: TypeAlias = Literal["slower", "faster", "no change", "inconclusive", "too few runs"]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change, and the runs at which it was.

    Attributes:
        change: by how much; its places are those of the trend's values.
        run: the first on the new level.
        last: the one before it.
        suspects: commits at which it may have come in as well, the likeliest first; none where it cannot be the
            program's, or where commits are not known.
        stands: whether the newest runs are still slower, where it was for the slower; whether it was the last change,
            where for the faster.
        is_accepted: whether a user accepted it.
        differences: what else is not the same in both runs that may alone have made it.
    """

    change: Change
    run: Remembered
    last: Remembered
    suspects: Sequence[str]
    stands: bool
    is_accepted: bool
    differences: Sequence[Difference]

    @property
    def is_regression(self) -> bool:
        """Whether something became slower, still is, and no user accepted it."""
        return self.change.is_slower and self.stands and not self.is_accepted

    def to_dict(self) -> dict[str, Any]:
        """Return it as `history --format json` gives it."""
        shift = self.change.shift
        return {
            "run": self.run.id,
            "previous_run": self.last.id,
            "commit": self.run.commit or None,
            "dirty": self.run.is_dirty,
            "previous_commit": self.last.commit or None,
            "suspects": list(self.suspects),
            "verdict": "slower" if self.change.is_slower else "faster",
            "shift_percent": 100 * shift.estimate,
            "low_percent": 100 * shift.low,
            "high_percent": 100 * shift.high,
            "before_ns": round(self.change.before),
            "after_ns": round(self.change.after),
            "stands": self.stands,
            "accepted": self.is_accepted,
            "differences": [fact.to_dict() for fact in self.differences],
        }


@dataclass(frozen=True, slots=True)
class Trend:
    """A section's values over the runs that have any.

    Attributes:
        path: of the section.
        is_loop: whether they are ticks of a loop.
        runs: those that have a value, oldest first.
        values: in ns, one a run.
        change_points: where it changed, in order.
        verdict: of the newest runs against those before the last change; of none, whether that can be said.
    """

    path: str
    is_loop: bool
    runs: Sequence[Remembered]
    values: Sequence[float]
    change_points: Sequence[ChangePoint]
    verdict: Verdict

    @property
    def regressions(self) -> list[ChangePoint]:
        """The changes for the slower that still stand and were not meant."""
        return [point for point in self.change_points if point.is_regression]

    @property
    def stretches(self) -> list[tuple[int, int, float]]:
        """Where each stretch of one level begins and ends, among the values, and its median."""
        ends = [0, *(point.change.at for point in self.change_points), len(self.values)]
        return [(begin, end, median(self.values[begin:end])) for begin, end in pairwise(ends)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `history --format json` gives it."""
        return {
            "path": self.path,
            "kind": "loop" if self.is_loop else "node",
            "verdict": self.verdict,
            "values": [
                {"run": run.id, "ns": round(value)} for run, value in zip(self.runs, self.values, strict=True)
            ],
            "stretches": [
                {"first": self.runs[begin].id, "last": self.runs[end - 1].id, "median_ns": round(middle)}
                for begin, end, middle in self.stretches
            ],
            "changes": [point.to_dict() for point in self.change_points],
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """How runs are judged.

    Attributes:
        statistic: of a section's calls in a run, one of `STATISTICS`.
        threshold: the least shift that matters, as a part of 1.
        level: how probable it may be that a trend without a change shows one.
        accepted: beginnings of commits whose changes were meant.
    """

    statistic: str
    threshold: float
    level: float
    accepted: Sequence[str] = ()


def trend_of(path: str, runs: Sequence[Remembered], asked: Asked) -> Trend:
    """Return how a section did over the runs of a series, oldest first; at least one of them must have it."""
    having = [
        (run, value, run.measures[path].is_loop)
        for run in runs
        if path in run.measures and (value := run.measures[path].value(asked.statistic)) is not None
    ]
    kept, values = [run for run, _, _ in having], [value for _, value, _ in having]
    found = changes(values, asked.threshold, asked.level)
    change_points = [_change_point(change, kept, values, found, asked) for change in found]
    is_loop = any(is_loop for _, _, is_loop in having)
    return Trend(path, is_loop, kept, values, change_points, _verdict(values, change_points, asked.threshold))


def _change_point(
    change: Change, runs: Sequence[Remembered], values: Sequence[float], found: Sequence[Change], asked: Asked
) -> ChangePoint:
    run, last = runs[change.at], runs[change.at - 1]
    commit = run.commit
    return ChangePoint(
        change=change,
        run=run,
        last=last,
        suspects=_suspects(change, runs),
        stands=_stands(change, values, found, asked.threshold),
        is_accepted=bool(commit) and any(commit.startswith(start) for start in asked.accepted),
        differences=[fact for fact in differences([_facts(last)], [_facts(run)]) if fact.is_ground],
    )


def _suspects(change: Change, runs: Sequence[Remembered]) -> list[str]:
    """Commits that first ran where the change may have been, the likeliest first."""
    places = sorted(range(change.earliest, change.latest + 1), key=lambda at: (abs(at - change.at), at))
    commits = [runs[at].commit for at in places if runs[at].commit != runs[at - 1].commit]
    return list(dict.fromkeys(filter(None, commits)))


def _stands(change: Change, values: Sequence[float], found: Sequence[Change], threshold: float) -> bool:
    """Whether what it did has not been undone since."""
    if change is found[-1]:
        return True
    if not change.is_slower:
        return False
    begin = max((each.at for each in found if each.at < change.at), default=0)
    newest = between(values[begin : change.at], values[found[-1].at :])
    return verdict_of(newest, threshold) == "slower"


def _verdict(values: Sequence[float], change_points: Sequence[ChangePoint], threshold: float) -> Verdict:
    if len(values) < FEWEST:
        return "too few runs"
    if any(point.change.is_slower and point.stands for point in change_points):
        return "slower"
    if change_points and not change_points[-1].change.is_slower:
        return "faster"
    middle = len(values) // 2
    halves = between(values[:middle], values[middle:])
    return "no change" if verdict_of(halves, threshold) == "no difference" else "inconclusive"


def _facts(run: Remembered) -> Profile:
    return Profile(metadata={key: frozenset([value]) for key, value in run.facts.items()})


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
class SeriesTrends:
    """The verdicts on a series.

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
        series: the trends of each series, the one with the newest run first.
        statistic: of a section's calls in a run.
        threshold: the least shift that matters, as a part of 1.
        nodes: the paths that were asked for; none for what is worth a look.
        commits: what is known of them; filled in by who has the repository.
    """

    series: Sequence[SeriesTrends]
    statistic: str
    threshold: float
    nodes: Sequence[str] = ()
    commits: Mapping[str, Commit] = field(default_factory=dict)

    @property
    def regressions(self) -> list[tuple[Series, Trend]]:
        """Every trend with a regression that stands."""
        return [(entry.series, trend) for entry in self.series for trend in entry.regressions]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `history --format json` gives it."""
        return {
            "schema": SCHEMA,
            "statistic": self.statistic,
            "threshold_percent": 100 * self.threshold,
            "commits": {commit: known._asdict() for commit, known in self.commits.items()},
            "series": [
                {**entry.series.to_dict(), "trends": [trend.to_dict() for trend in entry.trends]}
                for entry in self.series
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
    entry = []
    for one in series:
        wanted = _wanted(one, nodes, statistic, everything)
        # Every trend is one more chance to be wrong: together they are wrong as seldom as one alone would be.
        asked = Asked(statistic, threshold, LEVEL / max(1, len(wanted)), accepted)
        trends = [trend_of(path, one.runs, asked) for path in wanted]
        trends.sort(key=lambda trend: not trend.is_loop)
        if trends or not nodes:
            entry.append(SeriesTrends(one, trends))
    return History(entry, statistic, threshold, tuple(nodes))


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
        # A name with a slash is escaped in a path, and as it is where a person reads it.
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
