"""Why a profile is empty."""

from __future__ import annotations

import shlex

from ticktree.cli.focus import functions_of, never_called_of
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty
from ticktree.recorder import OFF_VARIABLE, says_off
from ticktree.run.without_room import LOSS


def why_empty(profile: Profile) -> str | None:
    """The reason why nothing was recorded, to be read after a colon; None if something was."""
    if not is_empty(profile):
        return None
    facts = profile.metadata
    if "read_from" in facts:
        return "the file holds no timers"
    if "memory_files_damaged" in profile.losses:
        return "what was recorded is damaged"
    if LOSS in profile.losses:
        return (
            "there was no room for the memory file of any process, and none could keep what it had at its end"
        )
    if any(says_off(str(word)) for word in facts.get(f"env.{OFF_VARIABLE}", ())):
        return f"{OFF_VARIABLE} is set, which turns ticktree off for good"
    if "times_enabled" not in facts:
        return (
            "no process of it recorded anything; Python ran without site-packages (-S), or ended before "
            "it ran the program, or has no ticktree.pth (`ticktree doctor` looks for it)"
        )
    if facts["times_enabled"] == {0}:
        return "recording was never enabled; call ticktree.enable(), or use `ticktree run`"
    how = ", ".join(
        formatting.ending(int(status)) for status in sorted(facts.get("exit_status", ()), key=str) if status
    )
    if how:
        return f"the program ended ({how}) without reaching a section"
    missed = never_called_of(profile)
    if missed:
        return f"no section was reached, and what was to be in focus was never called: {', '.join(missed)}"
    return (
        "no section was reached while recording was on; mark some code with `with ticktree.section(...)`, record the "
        f"calls of a function with `ticktree run --focus {_a_function_of(profile)}`, or look for a ticktree.disable() "
        "that comes too early"
    )


def _a_function_of(profile: Profile) -> str:
    """The name of a function in the run's script, `main` before others; FUNCTION where none is known."""
    commands = sorted(map(str, profile.metadata.get("command", ())))
    names = functions_of(shlex.split(commands[0])) if len(commands) == 1 else []
    return shlex.quote(next((name for name in names if name == "main"), names[0] if names else "FUNCTION"))
