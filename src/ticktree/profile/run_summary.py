"""Summary of a run for the history, which shows trends over months.

A trend needs only a few numbers per section. They are stored for every section with a steady call, under its path in
the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticktree.profile.machine import library_threads
from ticktree.profile.metadata import Metadata, Value, ordered
from ticktree.profile.profile import Profile

STATISTICS = ("mean", "p50", "p90", "p99", "max")
# Prefix of facts of a run that come from its gauges.
_THREADS = "threads."


@dataclass(frozen=True, slots=True)
class Measure:
    """A section's steady calls in one run.

    Attributes:
        calls: how many; at least one.
        p50_ns: the median; None, like the others, if the durations of single calls are unknown.
        p90_ns: the duration that 90% did not exceed.
        p99_ns: the duration that 99% did not exceed.
        max_ns: the longest.
        share: the section's share of the run's time, warm-up included; more than 1 if calls ran concurrently.
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
        """Return one of `STATISTICS` in ns, at least 1 so that it can be divided by; None if unknown."""
        ns: float | None
        ns = self.sum_ns / self.calls if statistic == "mean" else getattr(self, f"{statistic}_ns")
        return None if ns is None else max(1.0, ns)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in the history.

    Attributes:
        id: unique among all runs of all machines.
        folder: the name of the run's directory, which may have been deleted.
        facts: about machine and program, one value per key.
        measures: by path; only of the requested sections.
    """

    id: str
    folder: str
    started_ns: int
    facts: Mapping[str, Value]
    measures: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        """The program's commit; "" if unknown."""
        return str(self.facts.get("git.commit", ""))

    @property
    def is_dirty(self) -> bool:
        """Whether the program had been changed since that commit."""
        return bool(self.facts.get("git.dirty", False))


def summarize_run(profile: Profile, run_id: str, folder: str, started_ns: int) -> RunSummary:
    """Return the summary of a run; see `Remembered` for the arguments."""
    facts = _single_facts(profile.metadata)
    facts |= {f"{_THREADS}{library}": count for library, count in library_threads(profile.gauges).items()}
    total_ns = profile.root.total_ns
    measures = {}
    for path, _, node in profile.root.walk():
        loop = profile.loops.get(path)
        stats = node.steady if loop is None else loop.stats
        if path and stats.count:
            share = node.total_ns / total_ns if total_ns > 0 else 0.0
            percentiles = (stats.p50_ns, stats.p90_ns, stats.p99_ns, stats.max_ns)
            measures[path] = Measure(stats.count, stats.sum_ns, *percentiles, share, loop is not None)
    return RunSummary(run_id, folder, started_ns, facts, measures)


def _single_facts(metadata: Metadata) -> dict[str, Value]:
    """Return one value per fact; if processes of the run disagree, a text that lists all values."""
    facts: dict[str, Value] = {}
    for key, values in metadata.items():
        members = ordered(values)
        if members:
            facts[key] = members[0] if len(members) == 1 else ", ".join(map(str, members))
    return facts
