"""Git: what the repository of a program's source says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_TIMEOUT_S = 3.0


def ask(folder: Path, *arguments: str) -> str | None:
    """Return what git prints when run in `folder`; None where there is no git, no repository or no answer.

    Args:
        folder: any in the repository.
        arguments: of git; what stands in them must not be taken for an option that was not meant.
    """
    # It must not take locks that the user's own git then waits for, nor ask for a password.
    environment = {
        **os.environ,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }
    # Nor may it run what the repository's own configuration names: a repository may have come with anything in it.
    safe = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
    try:
        return subprocess.run(
            ["git", *safe, "-C", str(folder), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
