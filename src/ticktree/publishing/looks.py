"""Looks at a run while it goes on: what is published is read once, whoever asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from ticktree.profile import Profile
from ticktree.publishing.choice import PublishedSections
from ticktree.run.reading import reader  # noqa: F401 - now, or the first look would seem to cost what importing does

# Reading takes time from the program where all cores are busy: at most a fifth of one core.
REST_PER_LOOK = 4


class Readable(Protocol):
    """A run, as far as it is looked at."""

    def profile(self) -> Profile:
        """What was recorded up to this moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A run at one moment.

    Attributes:
        profile: what was recorded so far.
        at_ns: when, in wall-clock nanoseconds since 1970.
        era: counts up when recording has begun anew since the look before: sums start again from 0.
        paths: the sections that are told of.
        left_out: how many are not.
        left_out_self_ns: the own time of those together.
    """

    profile: Profile
    at_ns: int
    era: int
    paths: Container[str]
    left_out: int
    left_out_self_ns: int


class Looks:
    """The newest look at a run, for all who publish it.

    Args:
        run: what is looked at.
        cost: seconds of processor time that the calling thread has used.
        clock: seconds that never go back.
        wall_ns: nanoseconds since 1970.
    """

    def __init__(
        self,
        run: Readable,
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
        self._look: Look | None = None
        self._rests_until_s = 0.0
        self._is_over = False

    def latest(self) -> Look | None:
        """Return a look at this moment, or the last one while reading has to rest; None where there is none yet."""
        with self._lock:
            if not self._is_over and self._clock() >= self._rests_until_s:
                before_s = self._cost()
                # What cannot be read now may be the next time; until then the last look holds.
                with suppress(Exception):
                    at_ns = self._wall_ns()
                    self._take(self._run.profile(), at_ns)
                self._rest(self._cost() - before_s)
            return self._look

    def over(self, profile: Profile) -> Look:
        """Take what was recorded in all: nothing comes after it."""
        with self._lock:
            self._is_over = True
            return self._take(profile, self._wall_ns())

    def charge(self, spent_s: float) -> None:
        """Let reading rest for time that was spent on what was read: that is the machine's as well."""
        with self._lock:
            self._rest(spent_s)

    def _rest(self, spent_s: float) -> None:
        self._rests_until_s = max(self._rests_until_s, self._clock()) + REST_PER_LOOK * spent_s

    def _take(self, profile: Profile, at_ns: int) -> Look:
        began_anew = self._look is not None and _began_anew(self._look.profile, profile)
        self._choice.extend(profile)
        left_out, left_out_self_ns = self._choice.left_out(profile)
        self._look = Look(
            profile=profile,
            at_ns=at_ns if self._look is None else max(at_ns, self._look.at_ns),
            era=(self._look.era if self._look else 0) + began_anew,
            paths=self._choice.paths,
            left_out=left_out,
            left_out_self_ns=left_out_self_ns,
        )
        return self._look


def _began_anew(earlier: Profile, later: Profile) -> bool:
    """Tell whether calls are gone: recording was reset, or a process's file cannot be read any more."""
    counts = {path: node.count for path, _, node in later.root.walk()}
    return any(counts.get(path, -1) < node.count for path, _, node in earlier.root.walk())
