"""Trend: one section over the runs of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Literal, TypeAlias

from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.analysis.comparison.shift import between
from ticktree.analysis.comparison.verdict import verdict_of
from ticktree.analysis.history.changes import FEWEST, Change, changes
from ticktree.profile import Profile
from ticktree.profile.remembered import Remembered

Verdict: TypeAlias = Literal["slower", "faster", "no change", "inconclusive", "too few runs"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A change, and the runs at which it was.

    Attributes:
        change: by how much; its places are those of the trend's values.
        run: the first on the new level.
        last: the one before it.
        suspects: commits at which it may have come in as well, the likeliest first; none where it cannot be the
            program's, or where commits are not known.
        stands: whether the newest runs are still slower, where it was for the slower; whether it was the last change,
            where for the faster.
        is_accepted: whether somebody said that it was meant.
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
        """Whether it made something slower that still is, and nobody meant it."""
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
        turns: where it changed, in order.
        verdict: of the newest runs against those before the last change; of none, whether that can be said.
    """

    path: str
    is_loop: bool
    runs: Sequence[Remembered]
    values: Sequence[float]
    turns: Sequence[Turn]
    verdict: Verdict

    @property
    def regressions(self) -> list[Turn]:
        """The turns for the slower that still stand and were not meant."""
        return [turn for turn in self.turns if turn.is_regression]

    @property
    def stretches(self) -> list[tuple[int, int, float]]:
        """Where each stretch of one level begins and ends, among the values, and its median."""
        ends = [0, *(turn.change.at for turn in self.turns), len(self.values)]
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
            "changes": [turn.to_dict() for turn in self.turns],
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
    turns = [_turn(change, kept, values, found, asked) for change in found]
    is_loop = any(is_loop for _, _, is_loop in having)
    return Trend(path, is_loop, kept, values, turns, _verdict(values, turns, asked.threshold))


def _turn(
    change: Change, runs: Sequence[Remembered], values: Sequence[float], found: Sequence[Change], asked: Asked
) -> Turn:
    run, last = runs[change.at], runs[change.at - 1]
    commit = run.commit
    return Turn(
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


def _verdict(values: Sequence[float], turns: Sequence[Turn], threshold: float) -> Verdict:
    if len(values) < FEWEST:
        return "too few runs"
    if any(turn.change.is_slower and turn.stands for turn in turns):
        return "slower"
    if turns and not turns[-1].change.is_slower:
        return "faster"
    middle = len(values) // 2
    halves = between(values[:middle], values[middle:])
    return "no change" if verdict_of(halves, threshold) == "no difference" else "inconclusive"


def _facts(run: Remembered) -> Profile:
    return Profile(metadata={key: frozenset([value]) for key, value in run.facts.items()})
