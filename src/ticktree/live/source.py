"""Where the live view's readings come from: a run's memory files, or a profile that was saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ticktree.errors import TicktreeError
from ticktree.live.reading import Reading, State
from ticktree.loading import read_profile
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.reading import reader  # noqa: F401 - now, and not when the first moment has been noted

Clock = Callable[[], int]


class Source(Protocol):
    """Something to watch."""

    def read(self) -> Reading:
        """Look at it now. Never raises for what is wrong with a run: the reading says it."""


class RunSource:
    """A run, running or not.

    Args:
        path: its directory.
        clock: nanoseconds that never go back.
    """

    def __init__(self, path: Path, clock: Clock = time.monotonic_ns) -> None:
        self._path = path
        self._clock = clock
        self._was_running = False

    def read(self) -> Reading:
        """Look at the run now."""
        began_ns = self._clock()
        try:
            return self._read(began_ns)
        except (TicktreeError, OSError) as error:
            return self._lost(began_ns, _said(error))
        except Exception as error:  # A mistake of ours: whoever watches is better served by the last picture.
            return self._lost(began_ns, f"{type(error).__name__}: {_said(error)}")

    def _read(self, began_ns: int) -> Reading:
        run = RunDirectory.open(self._path)
        # Asked before it is read: what is recorded until the end is then in the last reading.
        live = run.is_live()
        at_ns = self._clock()  # as near as can be to the copying of the files
        profile = run.profile()
        run = RunDirectory.open(self._path)  # anew: its end may have been written in the meantime
        self._was_running = self._was_running or live
        state: State = "running" if live else "ended" if self._was_running else "finished"
        status = run.manifest.metadata.get("exit_status")
        return Reading(
            name=self._path.name,
            state=state,
            at_ns=at_ns,
            took_ns=self._clock() - began_ns,
            profile=profile,
            running_ns=max(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - run.manifest.began_ns)
            if live
            else None,
            exit_status=status if isinstance(status, int) else None,
            trouble="" if live or run.is_finished() else "its processes died; any ticktree command saves it",
        )

    def _lost(self, began_ns: int, trouble: str) -> Reading:
        took_ns = self._clock() - began_ns
        return Reading(name=self._path.name, state="lost", at_ns=began_ns, took_ns=took_ns, trouble=trouble)


class SavedSource:
    """A profile that was saved as JSON, which will not change.

    Args:
        path: the file.

    Raises:
        TicktreeError: It cannot be read, or is not a valid profile.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._profile: Profile = read_profile(path)

    def read(self) -> Reading:
        """Return the profile, as ever."""
        return Reading(name=self._name, state="saved", at_ns=0, took_ns=0, profile=self._profile)


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    return str(error) or type(error).__name__
