"""Remembered: what is kept of a run for as long as anybody asks how the program was over the months.

A profile holds what a tree, an icicle and an advice need; a trend needs a few numbers of each section. They are kept
of every section that has a steady call, under the path that it has in the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticktree.profile.machine import threads
from ticktree.profile.metadata import Metadata, Value, ordered
from ticktree.profile.profile import Profile

STATISTICS = ("mean", "p50", "p90", "p99", "max")
# A fact of a run that its gauges know.
_THREADS = "threads."


@dataclass(frozen=True, slots=True)
class Measure:
    """A section's steady calls in one run.

    Attributes:
        calls: how many; at least one.
        p50_ns: the median of them; None, as of the others, where it is not known how long single calls took.
        p90_ns: what 90% did not exceed.
        p99_ns: what 99% did not exceed.
        max_ns: the longest.
        share: of the run's time, what it was entered for, warm-up included; more than 1 where several did it at once.
        is_loop: whether the calls are a loop's ticks.
    """

    calls: int
    sum_ns: int
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    share: float
    is_loop: bool

    def value(self, statistic: str) -> float | None:
        """Return one of `STATISTICS` in ns, at least 1: there is no ratio to nothing; None where it is not known."""
        found: float | None
        found = self.sum_ns / self.calls if statistic == "mean" else getattr(self, f"{statistic}_ns")
        return None if found is None else max(1.0, found)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A run.

    Attributes:
        id: unique among all runs of all machines.
        folder: the name of the directory it was kept in, which may be gone.
        facts: what is known of machine and program, one value each.
        measures: by path; perhaps of a few sections only, where no more were requested.
    """

    id: str
    folder: str
    started_ns: int
    facts: Mapping[str, Value]
    measures: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        """The commit its program was at; "" where that is not known."""
        return str(self.facts.get("git.commit", ""))

    @property
    def is_dirty(self) -> bool:
        """Whether the program had been changed since that commit."""
        return bool(self.facts.get("git.dirty", False))


def remembered(profile: Profile, run_id: str, folder: str, started_ns: int) -> Remembered:
    """Return what is kept of a run, for the other fields see `Remembered`."""
    facts = _one_each(profile.metadata)
    facts |= {f"{_THREADS}{library}": count for library, count in threads(profile.gauges).items()}
    whole_ns = profile.root.total_ns
    measures = {}
    for path, _, node in profile.root.walk():
        loop = profile.loops.get(path)
        stats = node.steady if loop is None else loop.stats
        if path and stats.count:
            share = node.total_ns / whole_ns if whole_ns > 0 else 0.0
            kept = (stats.p50_ns, stats.p90_ns, stats.p99_ns, stats.max_ns)
            measures[path] = Measure(stats.count, stats.sum_ns, *kept, share, loop is not None)
    return Remembered(run_id, folder, started_ns, facts, measures)


def _one_each(metadata: Metadata) -> dict[str, Value]:
    """One run has one value of each fact; where processes of a run do not agree, a text names all."""
    facts: dict[str, Value] = {}
    for key, values in metadata.items():
        every = ordered(values)
        if every:
            facts[key] = every[0] if len(every) == 1 else ", ".join(map(str, every))
    return facts
