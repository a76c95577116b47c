"""Snapshots of a run while it continues: all that is published is read once, for every destination."""

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
from ticktree.run.helper_process import ONLOOKER, SUPERVISOR
from ticktree.run.reading import reader  # noqa: F401 - now, or the first snapshot would seem to cost what importing does

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

# Reading takes time from the program where all cores are busy: at most a fifth of one core.
REST_PER_SNAPSHOT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run at one moment."""

    profile: Profile
    at_ns: int  # in wall-clock nanoseconds since 1970
    generation: (
        int  # counts up when recording has restarted since the snapshot before: sums start again from 0
    )
    paths: Container[str]  # the sections that are published
    left_out: int  # how many are not
    left_out_self_ns: int  # the self time of those together


class RunSnapshots:
    """The newest snapshot at a run, for all publishers.

    Args:
        run: What is looked at.
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
        self._choice = PublishedSections()
        self._snapshot: RunSnapshot | None = None
        self._rests_until_s = 0.0
        self._is_over = False

    def latest(self) -> RunSnapshot | None:
        """Return a snapshot of this moment, or the last one while reading rests; None where there is none yet."""
        with self._lock:
            if not self._is_over and self._clock() >= self._rests_until_s:
                before_s = self._cost()
                # What cannot be read now may be the next time; until then the last snapshot holds.
                with suppress(Exception):
                    at_ns = self._wall_ns()
                    self._take(self._run.profile(), at_ns)
                self._rest(self._cost() - before_s)
            return self._snapshot

    def over(self, profile: Profile) -> RunSnapshot:
        """Take what was recorded in all: nothing comes after it."""
        with self._lock:
            self._is_over = True
            return self._take(profile, self._wall_ns())

    def charge(self, spent_s: float) -> None:
        """Let reading rest for time that was spent on what was read: that is the machine's as well."""
        with self._lock:
            self._rest(spent_s)

    def _rest(self, spent_s: float) -> None:
        self._rests_until_s = max(self._rests_until_s, self._clock()) + REST_PER_SNAPSHOT * spent_s

    def _take(self, profile: Profile, at_ns: int) -> RunSnapshot:
        is_restart = self._snapshot is not None and _is_restart(self._snapshot.profile, profile)
        self._choice.extend(profile)
        left_out, left_out_self_ns = self._choice.left_out(profile)
        self._snapshot = RunSnapshot(
            profile=profile,
            at_ns=at_ns if self._snapshot is None else max(at_ns, self._snapshot.at_ns),
            generation=(self._snapshot.generation if self._snapshot else 0) + is_restart,
            paths=self._choice.paths,
            left_out=left_out,
            left_out_self_ns=left_out_self_ns,
        )
        return self._snapshot


def _is_restart(earlier: Profile, later: Profile) -> bool:
    """Tell whether calls are gone: recording was reset, or a process's file cannot be read any more."""
    counts = {path: node.count for path, _, node in later.root.walk()}
    return any(counts.get(path, -1) < node.count for path, _, node in earlier.root.walk())


SECTIONS_AT_MOST = 1000


class PublishedSections:
    """The sections that are published, up to a number: once published, always published.

    Those that took the most time when there was still room came in first.
    """

    def __init__(self, at_most: int = SECTIONS_AT_MOST) -> None:
        self._at_most = at_most
        self._paths: set[str] = set()

    @property
    def paths(self) -> AbstractSet[str]:
        """Those chosen so far."""
        return frozenset(self._paths)

    def extend(self, profile: Profile) -> None:
        """Choose among the sections of a profile, as long as there is room."""
        room = self._at_most - len(self._paths)
        if room > 0:
            new = [(path, node) for path, _, node in profile.root.walk() if path and path not in self._paths]
            new.sort(key=lambda pair: (-pair[1].total_ns, pair[0]))
            self._paths.update(path for path, _ in new[:room])

    def left_out(self, profile: Profile) -> tuple[int, int]:
        """Return how many sections are not published, and their self time together."""
        others = [node.self_ns for path, _, node in profile.root.walk() if path and path not in self._paths]
        return len(others), sum(others)


@dataclass(frozen=True, slots=True)
class Number:
    """A metric that is not of the profile."""

    name: str  # with dots, after the prefix that all have
    unit: str  # as OpenTelemetry writes it; "ns" for times, which Prometheus gets in seconds
    kind: Literal["sum", "value"]  # a sum that only grows, or a value
    about: str
    values: Mapping[str, int]
    label: str = ""  # what the values' keys are; "" of a metric with one value


def numbers(snapshot: RunSnapshot) -> list[Number]:
    """Return them as they are at the time of a snapshot."""
    count = {role.name: role.count for role in roles(snapshot.profile, "process")}
    at, left_out, own = ({"": n} for n in (snapshot.at_ns, snapshot.left_out, snapshot.left_out_self_ns))
    too_many = "Sections that are not published, as there are too many."
    return [
        Number("processes", "{process}", "sum", "Processes that took part so far.", count, "role"),
        Number("read.time", "ns", "value", "When the run was read, since 1970.", at),
        Number("sections.left_out", "{section}", "value", too_many, left_out),
        Number("left_out.own", "ns", "sum", "Self time of sections that are not published.", own),
    ]


class Ratchet:
    """The highest that each sum has been.

    What a process was still at is counted until the moment of reading; if it is then killed, only until the last
    moment that it left in its file. So a time can fall by what is not known to have been spent.
    """

    def __init__(self) -> None:
        self._highest: dict[Hashable, float] = {}
        self._generation = 0

    def begin(self, generation: int) -> None:
        """Begin a snapshot: if recording has restarted since the last one, so do the sums."""
        if generation != self._generation:
            self._generation = generation
            self._highest.clear()

    def held(self, key: Hashable, value: float) -> float:
        """Return the sum of that key as it may be published."""
        highest = self._highest[key] = max(value, self._highest.get(key, value))
        return highest


def started(work: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread that has begun to work: of lower priority, nothing's end waits for it, and it takes no signal.

    Signals are for the thread that supervises; one hears those that its starter hears.
    """

    def step_back_and_work() -> None:
        if sys.platform == "linux":  # elsewhere it would be all of the process
            with suppress(OSError):
                os.nice(ONLOOKER - SUPERVISOR)
        work()

    thread = threading.Thread(target=step_back_and_work, name=name, daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread
