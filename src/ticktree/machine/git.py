"""Git: queries about the repository of a program's source."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_TIMEOUT_S = 3.0


def run_git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git in `folder`; None if there is no git, no repository or no answer.

    Args:
        folder: any folder in the repository.
        arguments: of git; none of them may be mistaken for an option.
    """
    # It must not take locks that the user's own git then waits for, nor ask for a password.
    switches = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    # Nor may it run programs that the repository's configuration names: anyone may have written that.
    safe = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
    try:
        return subprocess.run(
            ["git", *safe, "-C", str(folder), *arguments],
            env=os.environ | switches,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
