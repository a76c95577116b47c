"""Program: what a profile is of, as far as its command line says."""

from __future__ import annotations

import shlex
from pathlib import Path

from ticktree.profile import Profile


def program_of(profile: Profile) -> str:
    """Return the script's name or the module of a profile's command; "" where it has none, or several.

    Arguments and directories may differ from machine to machine, and the program be the same.
    """
    commands = profile.metadata.get("command", frozenset())
    names = {_program(str(command)) for command in commands}
    return names.pop() if len(names) == 1 else ""


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:  # no command that we wrote
        return command
    if words[:1] == ["-m"]:
        return " ".join(words[:2])
    return Path(words[0]).name if words else ""
