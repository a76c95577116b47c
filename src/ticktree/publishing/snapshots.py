"""Snapshots of a run while it continues: each is read once, for all destinations."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Container, Hashable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ticktree.analysis.workers.roles import roles
from ticktree.profile import Profile
from ticktree.run.helper_process import READER_NICENESS, SUPERVISOR_NICENESS
from ticktree.run.reading import reader  # noqa: F401 - now, so that the first snapshot's cost does not include the import

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# Reading takes time from the program if all cores are busy: at most a fifth of one core.
REST_PER_SNAPSHOT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run at one moment."""

    profile: Profile
    at_ns: int  # in wall-clock nanoseconds since 1970
    generation: (
        int  # incremented when recording has restarted since the last snapshot: sums start again from 0
    )
    paths: Container[str]  # the published sections
    left_out: int  # number of other sections
    left_out_self_ns: int  # the sum of their self times


class RunSnapshots:
    """The newest snapshot of a run, for all publishers.

    Args:
        run: The run to read.
        cost: Returns the seconds of processor time that the calling thread has used.
        clock: Returns seconds that never go back.
        wall_ns: Returns nanoseconds since 1970.
    """

    def __init__(
        self,
        run: RunDirectory,
        cost: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._run = run
        self._cost = cost
        self._clock = clock
        self._wall_ns = wall_ns
        self._lock = threading.Lock()
        self._sections = PublishedSections()
        self._snapshot: RunSnapshot | None = None
        self._rests_until_s = 0.0
        self._is_finished = False

    def latest(self) -> RunSnapshot | None:
        """Return a snapshot of this moment, or the last one while reading rests; None if there is none yet."""
        with self._lock:
            if not self._is_finished and self._clock() >= self._rests_until_s:
                before_s = self._cost()
                # A run that cannot be read now may be readable later; until then return the last snapshot.
                with suppress(Exception):
                    at_ns = self._wall_ns()
                    self._take(self._run.profile(), at_ns)
                self._rest(self._cost() - before_s)
            return self._snapshot

    def finish(self, profile: Profile) -> RunSnapshot:
        """Return the snapshot of the final profile, which stays the latest."""
        with self._lock:
            self._is_finished = True
            return self._take(profile, self._wall_ns())

    def charge(self, spent_s: float) -> None:
        """Let reading rest also for time that was spent on processing a snapshot."""
        with self._lock:
            self._rest(spent_s)

    def _rest(self, spent_s: float) -> None:
        self._rests_until_s = max(self._rests_until_s, self._clock()) + REST_PER_SNAPSHOT * spent_s

    def _take(self, profile: Profile, at_ns: int) -> RunSnapshot:
        is_restart = self._snapshot is not None and _is_restart(self._snapshot.profile, profile)
        self._sections.extend(profile)
        left_out, left_out_self_ns = self._sections.left_out(profile)
        self._snapshot = RunSnapshot(
            profile=profile,
            at_ns=at_ns if self._snapshot is None else max(at_ns, self._snapshot.at_ns),
            generation=(self._snapshot.generation if self._snapshot else 0) + is_restart,
            paths=self._sections.paths,
            left_out=left_out,
            left_out_self_ns=left_out_self_ns,
        )
        return self._snapshot


def _is_restart(earlier: Profile, later: Profile) -> bool:
    """Tell whether calls have disappeared: recording was reset, or a process's file is not readable any more."""
    counts = {path: node.count for path, _, node in later.root.walk()}
    return any(counts.get(path, -1) < node.count for path, _, node in earlier.root.walk())


MAX_SECTIONS = 1000


class PublishedSections:
    """The sections that are published, up to a maximum: once published, always published.

    Sections with the most time are added first.
    """

    def __init__(self, max_sections: int = MAX_SECTIONS) -> None:
        self._max_sections = max_sections
        self._paths: set[str] = set()

    @property
    def paths(self) -> AbstractSet[str]:
        """The sections added so far."""
        return frozenset(self._paths)

    def extend(self, profile: Profile) -> None:
        """Add sections of a profile up to the maximum."""
        capacity = self._max_sections - len(self._paths)
        if capacity > 0:
            new = [(path, node) for path, _, node in profile.root.walk() if path and path not in self._paths]
            new.sort(key=lambda pair: (-pair[1].total_ns, pair[0]))
            self._paths.update(path for path, _ in new[:capacity])

    def left_out(self, profile: Profile) -> tuple[int, int]:
        """Return how many sections are not published, and the sum of their self times."""
        self_times = [
            node.self_ns for path, _, node in profile.root.walk() if path and path not in self._paths
        ]
        return len(self_times), sum(self_times)


@dataclass(frozen=True, slots=True)
class RunMetric:
    """A metric that is not part of the profile."""

    name: str  # with dots, without the common prefix
    unit: str  # as OpenTelemetry writes it; "ns" for times, which Prometheus gets in seconds
    kind: Literal["sum", "value"]  # a monotonic sum, or a value
    description: str
    values: Mapping[str, int]
    label: str = ""  # what the values' keys are; "" of a metric with one value


def run_metrics(snapshot: RunSnapshot) -> list[RunMetric]:
    """Return the metrics of a snapshot that are not part of its profile."""
    processes = {role.name: role.count for role in roles(snapshot.profile, "process")}
    read_ns, left_out, self_ns = (
        {"": n} for n in (snapshot.at_ns, snapshot.left_out, snapshot.left_out_self_ns)
    )
    too_many = "Sections that are not published, as there are too many."
    return [
        RunMetric("processes", "{process}", "sum", "Processes that took part so far.", processes, "role"),
        RunMetric("read.time", "ns", "value", "When the run was read, since 1970.", read_ns),
        RunMetric("sections.left_out", "{section}", "value", too_many, left_out),
        RunMetric("left_out.own", "ns", "sum", "Self time of sections that are not published.", self_ns),
    ]


class MonotonicSums:
    """The highest value of each sum so far, so that published sums never fall.

    The open calls of a process count until the moment of reading; if it is then killed, only until the last time in
    its file. So a time can fall between two snapshots.
    """

    def __init__(self) -> None:
        self._highest: dict[Hashable, float] = {}
        self._generation = 0

    def begin(self, generation: int) -> None:
        """Begin a snapshot; if recording has restarted since the last one, restart the sums."""
        if generation != self._generation:
            self._generation = generation
            self._highest.clear()

    def raise_to(self, key: Hashable, value: float) -> float:
        """Return the value to publish for a key: `value`, or the highest so far."""
        highest = self._highest[key] = max(value, self._highest.get(key, value))
        return highest


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """Start and return a daemon thread of lower priority that receives no signals.

    Signals are for the supervising thread; a new thread inherits the signal mask of the thread that starts it.
    """

    def lower_priority_and_work() -> None:
        if sys.platform == "linux":  # elsewhere it would apply to the whole process
            with suppress(OSError):
                os.nice(READER_NICENESS - SUPERVISOR_NICENESS)
        work()

    thread = threading.Thread(target=lower_priority_and_work, name=name, daemon=True)
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
    return thread
