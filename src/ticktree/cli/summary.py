"""What `ticktree run` prints: the report during the run or at its end, or why nothing was recorded."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ticktree.analysis import Settings
from ticktree.cli.files import run_words
from ticktree.cli.focus import functions_of, never_called_of
from ticktree.cli.screen import complain, note, show, show_at_once, view_options
from ticktree.configuration import configuration, settings
from ticktree.errors import TicktreeError, one_line
from ticktree.outputs import OUTPUTS
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty
from ticktree.profile.metadata import Metadata
from ticktree.recorder import OFF_VARIABLE, gil, is_off_value
from ticktree.run.finishing import RunDirectory
from ticktree.run.losses import WITHOUT_ROOM_LOSS
from ticktree.run.naming import shell_path


def settings_here() -> Settings:
    """Return the settings of the project in which the command was called, from its pyproject.toml."""
    return settings(configuration())


def settings_or_defaults() -> Settings:
    """Return the same; print a warning and return the defaults if they cannot be understood.

    For the end of a program that ran for hours: a mistake in the settings must not hide what it recorded.
    """
    try:
        return settings_here()
    except TicktreeError as error:
        complain(f"{error}; the defaults are used")
        return Settings()


def why_empty(profile: Profile) -> str | None:
    """Return why nothing was recorded, to follow a colon; None if something was."""
    if not is_empty(profile):
        return None
    facts = profile.metadata
    if "read_from" in facts:
        return "the file has no timers"
    if "memory_files_damaged" in profile.losses:
        return "what was recorded is damaged"
    if WITHOUT_ROOM_LOSS in profile.losses:
        return "there was no room for the memory file of any process, and no process could save its data at its end"
    if "times_enabled" not in facts:
        return _why_none_recorded(facts)
    if facts["times_enabled"] == {0}:
        return "recording was never enabled; call ticktree.enable(), or use `ticktree run`"
    endings = ", ".join(
        formatting.ending(int(status)) for status in sorted(facts.get("exit_status", ()), key=str) if status
    )
    if endings:
        return f"the program ended ({endings}) before it reached a section"
    missed = never_called_of(profile)
    if missed:
        return f"no section was reached, and the functions in focus were never called: {', '.join(missed)}"
    return (
        "no section was reached while recording was on; mark code with `with ticktree.section(...)`, record the calls "
        f"of a function with `ticktree run --focus {_a_function_of(profile)}`, or look for a ticktree.disable() that "
        "comes too early"
    )


def _why_none_recorded(facts: Metadata) -> str:
    if any(is_off_value(str(word)) for word in facts.get(f"env.{OFF_VARIABLE}", ())):
        return f"{OFF_VARIABLE} is set, which turns ticktree off"
    if "python.gil" in facts:
        return gil.GIL_REASON
    return (
        "no process recorded anything; Python ran without site-packages (-S), ended before it ran the program, or "
        "has no ticktree.pth (`ticktree doctor` looks for it)"
    )


def _a_function_of(profile: Profile) -> str:
    """Return the name of a function in the run's script, preferably `main`; FUNCTION if none is known."""
    commands = sorted(map(str, profile.metadata.get("command", ())))
    names = functions_of(shlex.split(commands[0])) if len(commands) == 1 else []
    return shlex.quote(next((name for name in names if name == "main"), names[0] if names else "FUNCTION"))


def note_if_empty(profile: Profile) -> bool:
    """Print why nothing was recorded, if nothing was, and return whether that is so."""
    reason = why_empty(profile)
    if reason is not None:
        note(f"Nothing was recorded: {reason}.")
    return reason is not None


def print_summary(profile: Profile, path: Path) -> None:
    """Print a finished run's profile on standard error, and where the run is."""
    if not note_if_empty(profile):
        view = replace(view_options(sys.stderr), run=run_words(path), settings=settings_or_defaults())
        show(OUTPUTS["terminal"].render(profile, view), sys.stderr)
    note("")
    note(f"Run {shell_path(path)}")


class LiveSummary:
    """Prints on standard error what a run has recorded so far; `clock` is a monotonic one, in seconds."""

    def __init__(self, run: RunDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock = clock
        self._began_s = clock()

    def print(self) -> None:
        """Print it."""
        profile = self._run.profile()
        age = formatting.time((self._clock() - self._began_s) * 1e9)
        # Begins with a line end, because the program may be in the middle of a line.
        head = f"--- {time.strftime('%H:%M:%S')}, after {age}: {self._run.path.name} ---"
        if is_empty(profile):
            tree = b"Nothing recorded yet: no section was entered.\n"
        else:
            tree = OUTPUTS["terminal"].render(profile, view_options(sys.stderr))
        show_at_once(f"\n{one_line(head)}\n".encode() + tree + b"\n", sys.stderr)
