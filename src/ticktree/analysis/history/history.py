"""History: the trend of every larger section in every series of runs of one program on similar machines."""

from __future__ import annotations

import shlex
from collections import defaultdict
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
from ticktree.analysis.history.changes import LEVEL, MIN_RUNS, THRESHOLD, Change, changes
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.metadata import Value
from ticktree.profile.run_summary import RunSummary

# Series: runs that can be compared, in the order in which they began.
#
# Neither a new laptop nor a larger batch is a regression: only runs of one program, with the same arguments, on
# similar machines form a series.

# The facts that identify a machine: they determine its speed, and a kernel update does not change them. The host's
# name is not among them: containers and cloud machines get a new one each time.
_MACHINE = ("cpu", "cores", "cores_usable", "gpus", "gpu")


@dataclass(frozen=True, slots=True)
class Series:
    """Runs of one program on similar machines.

    Attributes:
        program: its command line; without arguments if they were ignored.
        machine: the facts that identify the machine; empty if unknown.
        runs: oldest first, at least one.
        is_current: whether it contains the program's newest run; the verdicts on other series are of the past.
    """

    program: str
    machine: Mapping[str, Value]
    runs: Sequence[RunSummary]
    is_current: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return its program, machine and runs for `history --format json`."""
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


def group_series(runs: Iterable[RunSummary], *, any_arguments: bool = False) -> list[Series]:
    """Return runs, which may be in any order, in series, the one with the newest run first."""
    groups: dict[tuple[str, tuple[tuple[str, Value], ...]], list[RunSummary]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.started_ns, run.id)):
        machine = tuple((key, run.facts[key]) for key in _MACHINE if key in run.facts)
        groups[_program(run, any_arguments), machine].append(run)
    all_series = [Series(program, dict(machine), members) for (program, machine), members in groups.items()]
    all_series.sort(key=lambda series: series.runs[-1].started_ns, reverse=True)
    programs: set[str] = set()
    for index, series in enumerate(all_series):
        all_series[index] = replace(series, is_current=series.program not in programs)
        programs.add(series.program)
    return all_series


def _program(run: RunSummary, any_arguments: bool) -> str:
    command = str(run.facts.get("command", run.facts.get("name", "")))
    if not any_arguments:
        return command
    with suppress(ValueError):  # ticktree may not have written the command line
        words = shlex.split(command)
        return shlex.join(words[:2] if words[:1] == ["-m"] else words[:1])
    return command


Verdict: TypeAlias = Literal["slower", "faster", "no change", "inconclusive", "too few runs"]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change, and the runs between which it happened.

    Attributes:
        change: the change; its indices are those of the trend's values.
        run: the first on the new level.
        last: the last on the old level.
        suspects: commits that may have caused it, the likeliest first; empty if the program cannot be the cause, or
            if commits are not known.
        stands: for a slowdown, whether the newest runs are still slower; for a speedup, whether it was the last
            change.
        is_accepted: whether a user accepted it.
        differences: other facts that differ between the two runs and could alone have caused it.
    """

    change: Change
    run: RunSummary
    last: RunSummary
    suspects: Sequence[str]
    stands: bool
    is_accepted: bool
    differences: Sequence[Difference]

    @property
    def is_regression(self) -> bool:
        """Whether something became slower, still is, and no user accepted it."""
        return self.change.is_slower and self.stands and not self.is_accepted

    def to_dict(self) -> dict[str, Any]:
        """Return its fields for `history --format json`."""
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
    """A section's values over the runs that have one.

    Attributes:
        path: of the section.
        is_loop: whether the values are of a loop's ticks.
        runs: those that have a value, oldest first.
        values: in ns, one per run.
        change_points: where it changed, in order.
        verdict: the verdict on the newest runs against earlier ones; without a change, whether its absence is certain.
    """

    path: str
    is_loop: bool
    runs: Sequence[RunSummary]
    values: Sequence[float]
    change_points: Sequence[ChangePoint]
    verdict: Verdict

    @property
    def regressions(self) -> list[ChangePoint]:
        """The slowdowns that persist and were not accepted."""
        return [point for point in self.change_points if point.is_regression]

    @property
    def stretches(self) -> list[tuple[int, int, float]]:
        """The begin and end index of each stretch of one level, and its median."""
        ends = [0, *(point.change.at for point in self.change_points), len(self.values)]
        return [(begin, end, median(self.values[begin:end])) for begin, end in pairwise(ends)]

    def to_dict(self) -> dict[str, Any]:
        """Return its fields for `history --format json`."""
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
class Criteria:
    """The criteria for the verdict on a trend.

    Attributes:
        statistic: of a section's calls in a run, one of `STATISTICS`.
        threshold: the minimum shift that matters, as a fraction.
        level: the probability with which a trend without a change may show one.
        accepted: prefixes of commits whose changes are accepted.
    """

    statistic: str
    threshold: float
    level: float
    accepted: Sequence[str] = ()


def trend_of(path: str, runs: Sequence[RunSummary], criteria: Criteria) -> Trend:
    """Return the trend of a section over the runs of a series, oldest first; at least one of them must have it."""
    samples = [
        (run, value, run.measures[path].is_loop)
        for run in runs
        if path in run.measures and (value := run.measures[path].value(criteria.statistic)) is not None
    ]
    measured, values = [run for run, _, _ in samples], [value for _, value, _ in samples]
    level_changes = changes(values, criteria.threshold, criteria.level)
    points = [_change_point(change, measured, values, level_changes, criteria) for change in level_changes]
    is_loop = any(is_loop for _, _, is_loop in samples)
    return Trend(path, is_loop, measured, values, points, _verdict(values, points, criteria.threshold))


def _change_point(
    change: Change,
    runs: Sequence[RunSummary],
    values: Sequence[float],
    level_changes: Sequence[Change],
    criteria: Criteria,
) -> ChangePoint:
    run, last = runs[change.at], runs[change.at - 1]
    commit = run.commit
    return ChangePoint(
        change=change,
        run=run,
        last=last,
        suspects=_suspect_commits(change, runs),
        stands=_persists(change, values, level_changes, criteria.threshold),
        is_accepted=bool(commit) and any(commit.startswith(prefix) for prefix in criteria.accepted),
        differences=[fact for fact in differences([_facts(last)], [_facts(run)]) if fact.is_ground],
    )


def _suspect_commits(change: Change, runs: Sequence[RunSummary]) -> list[str]:
    """Return the commits that first ran within the change's confidence set, the likeliest first."""
    indices = sorted(range(change.earliest, change.latest + 1), key=lambda i: (abs(i - change.at), i))
    commits = [runs[i].commit for i in indices if runs[i].commit != runs[i - 1].commit]
    return list(dict.fromkeys(filter(None, commits)))


def _persists(
    change: Change, values: Sequence[float], level_changes: Sequence[Change], threshold: float
) -> bool:
    """Return whether no later change has undone this one."""
    if change is level_changes[-1]:
        return True
    if not change.is_slower:
        return False
    begin = max((other.at for other in level_changes if other.at < change.at), default=0)
    newest = between(values[begin : change.at], values[level_changes[-1].at :])
    return verdict_of(newest, threshold) == "slower"


def _verdict(values: Sequence[float], change_points: Sequence[ChangePoint], threshold: float) -> Verdict:
    if len(values) < MIN_RUNS:
        return "too few runs"
    if any(point.change.is_slower and point.stands for point in change_points):
        return "slower"
    if change_points and not change_points[-1].change.is_slower:
        return "faster"
    middle = len(values) // 2
    halves = between(values[:middle], values[middle:])
    return "no change" if verdict_of(halves, threshold) == "no difference" else "inconclusive"


def _facts(run: RunSummary) -> Profile:
    return Profile(metadata={key: frozenset([value]) for key, value in run.facts.items()})


SCHEMA = "ticktree-history/1"

# Sections that never took this share of a run are skipped unless requested: each further trend makes the test of the
# others stricter.
_MIN_SHARE = 0.01


class Commit(NamedTuple):
    """A commit in the program's repository.

    Attributes:
        subject: the first line of its message.
        after: the number of commits since the one that ran before it, including this one; None if unknown.
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
        """The trends with a regression; none if the series is not current."""
        return [trend for trend in self.trends if self.series.is_current and trend.regressions]


@dataclass(frozen=True, slots=True)
class History:
    """The trends of all series.

    Attributes:
        series: the trends of each series, the one with the newest run first.
        statistic: of a section's calls in a run.
        threshold: the minimum shift that matters, as a fraction.
        nodes: the requested paths; empty for loops and larger sections.
        commits: by name; filled in by a caller with access to the repository.
    """

    series: Sequence[SeriesTrends]
    statistic: str
    threshold: float
    nodes: Sequence[str] = ()
    commits: Mapping[str, Commit] = field(default_factory=dict)

    @property
    def regressions(self) -> list[tuple[Series, Trend]]:
        """Every trend with a regression, and its series."""
        return [(entry.series, trend) for entry in self.series for trend in entry.regressions]

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `history --format json`."""
        return {
            "schema": SCHEMA,
            "statistic": self.statistic,
            "threshold_percent": 100 * self.threshold,
            "commits": {commit: details._asdict() for commit, details in self.commits.items()},
            "series": [
                {**entry.series.to_dict(), "trends": [trend.to_dict() for trend in entry.trends]}
                for entry in self.series
            ],
        }


def history(
    runs: Iterable[RunSummary],
    *,
    nodes: Sequence[str] = (),
    statistic: str = "mean",
    threshold: float = THRESHOLD,
    accepted: Sequence[str] = (),
    any_arguments: bool = False,
    everything: bool = False,
    last: int | None = None,
) -> History:
    """Return the trends of a program's sections over its runs.

    Args:
        runs: in any order.
        nodes: the sections to include, by path or by the text that a report shows; empty for loops and every section
            that takes a hundredth of a run.
        statistic: which of `STATISTICS` of a section's calls is a run's value.
        threshold: the minimum shift that matters, as a fraction.
        accepted: prefixes of commits whose changes are accepted.
        any_arguments: whether runs with different arguments form one series.
        everything: whether to include every section, however small.
        last: how many of the newest runs of each series to include; None for all.

    Raises:
        TicktreeError: No run has one of the sections, or its name is ambiguous.
    """
    all_series = group_series(runs, any_arguments=any_arguments)
    if last is not None:
        all_series = [replace(series, runs=series.runs[-last:]) for series in all_series]
    nodes = _resolve_paths(nodes, all_series)
    entries = []
    for series in all_series:
        selected = _select_paths(series, nodes, statistic, everything)
        # Bonferroni's correction: all trends together are wrong no more often than one alone would be.
        criteria = Criteria(statistic, threshold, LEVEL / max(1, len(selected)), accepted)
        trends = [trend_of(path, series.runs, criteria) for path in selected]
        trends.sort(key=lambda trend: not trend.is_loop)
        if trends or not nodes:
            entries.append(SeriesTrends(series, trends))
    return History(entries, statistic, threshold, tuple(nodes))


def _select_paths(series: Series, nodes: Sequence[str], statistic: str, everything: bool) -> list[str]:
    is_large_by_path: dict[str, bool] = {}
    for run in series.runs:
        for path, measure in run.measures.items():
            if measure.value(statistic) is not None:
                is_large = everything or measure.is_loop or measure.share >= _MIN_SHARE
                is_large_by_path[path] = is_large_by_path.get(path, False) or is_large
    if nodes:
        return [path for path in dict.fromkeys(nodes) if path in is_large_by_path]
    return sorted((path for path, is_large in is_large_by_path.items() if is_large), key=paths.split)


def _resolve_paths(nodes: Sequence[str], all_series: Sequence[Series]) -> list[str]:
    """Return the paths of the requested sections."""
    if not nodes:
        return []
    known_paths = {path for series in all_series for run in series.runs for path in run.measures}
    required = []
    for node in nodes:
        # A slash in a name is escaped in a path, and plain in a report.
        matches = (
            [node]
            if node in known_paths
            else sorted(path for path in known_paths if paths.display_text(path) == node)
        )
        if len(matches) > 1:
            raise TicktreeError(f"{node} stands for several sections; say which: {', '.join(matches)}")
        if not matches:
            similar = get_close_matches(node, known_paths, n=1) or get_close_matches(
                node, [path for path in known_paths if path.endswith(node)], n=1, cutoff=0
            )
            hint = f"; did you mean {similar[0]}?" if similar else ""
            raise TicktreeError(f"no run has a section {node}{hint}")
        required += matches
    return required
