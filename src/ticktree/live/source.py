"""The sources of the live view's readings: a run's memory files, or a saved profile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from ticktree.errors import TicktreeError
from ticktree.loading import read_profile
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory

State: TypeAlias = Literal["running", "ended", "finished", "saved", "lost"]
"""Running; ended while it was watched; ended before; a profile saved as a file; not to be read any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReading:
    """A run at one moment.

    Attributes:
        name: of the run; not yet safe to show.
        state: of the run.
        at_ns: time of the reading, on a monotonic clock.
        took_ns: how long reading took.
        profile: what was recorded so far; None if it could not be read.
        running_ns: time since the run began; None if unknown.
        exit_status: of the program as in `subprocess`, negative for a signal; None if unknown.
        trouble: why something could not be read, or is missing; "" if nothing is wrong.
    """

    name: str
    state: State
    at_ns: int
    took_ns: int
    profile: Profile | None = None
    running_ns: int | None = None
    exit_status: int | None = None
    trouble: str = ""

    @property
    def is_last(self) -> bool:
        """Whether nothing can change any more."""
        return self.state in ("ended", "finished", "saved")


class LiveSource(Protocol):
    """Something to watch."""

    def read(self) -> LiveReading:
        """Read it now. Errors of a run are part of the reading, and never raised."""


class RunSource:
    """A run, running or not.

    Args:
        path: its directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_running = False

    def read(self) -> LiveReading:
        """Read the run now."""
        began_ns = time.monotonic_ns()
        try:
            return self._read(began_ns)
        except Exception as error:
            is_expected = isinstance(error, (TicktreeError, OSError))
            # A bug in ticktree: the last picture is more useful to the user than a traceback.
            trouble = _error_text(error) if is_expected else f"{type(error).__name__}: {_error_text(error)}"
            name, took_ns = self._path.name, time.monotonic_ns() - began_ns
            return LiveReading(name=name, state="lost", at_ns=began_ns, took_ns=took_ns, trouble=trouble)

    def _read(self, began_ns: int) -> LiveReading:
        run = RunDirectory.open(self._path)
        # Checked before reading, so that the last reading has everything up to the end.
        live = run.is_live()
        at_ns = time.monotonic_ns()  # as near as can be to the copying of the files
        profile = run.profile()
        run = RunDirectory.open(self._path)  # opened again, because its end may have been written meanwhile
        self._was_running = self._was_running or live
        state: State = "running" if live else "ended" if self._was_running else "finished"
        status = run.manifest.metadata.get("exit_status")
        running_ns = max(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - run.manifest.began_ns)
        return LiveReading(
            name=self._path.name,
            state=state,
            at_ns=at_ns,
            took_ns=time.monotonic_ns() - began_ns,
            profile=profile,
            running_ns=running_ns if live else None,
            exit_status=status if isinstance(status, int) else None,
            trouble="" if live or run.is_finished() else "its processes died; any ticktree command saves it",
        )


class SavedSource:
    """A profile saved as JSON, which does not change.

    Raises:
        TicktreeError: It cannot be read, or is not a valid profile.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._profile: Profile = read_profile(path)

    def read(self) -> LiveReading:
        """Return the profile."""
        return LiveReading(name=self._name, state="saved", at_ns=0, took_ns=0, profile=self._profile)


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    return str(error) or type(error).__name__
