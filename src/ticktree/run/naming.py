"""The names of runs, of their directories, and of files in these that several modules use."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from ticktree.files.trust import open_directory

# The records of ended processes, until the run is finished (folded.py).
FOLDED = "folded.json"
# Processes without a memory file (losses.py).
WITHOUT_ROOM = "without-room"
# Libraries that could not be instrumented as expected (losses.py).
NOT_INSTRUMENTED = "not-instrumented"
# Readings of the machine, until the run is finished (observed.py).
MACHINE = "machine.json"
# Stack samples, until the run is finished (observed.py).
SAMPLES = "samples.json"
# A pattern of the files that record a process's rank (fleet/store.py).
RANK = r"rank-\d+\.json"


def clean_name(name: str, max_length: int | None = 64) -> str:
    """Return `name` with troublesome characters replaced for file names; never empty or longer than `max_length`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:max_length] or "run"


def create_unique_directory(out: Path, name: str) -> Path:
    """Create and return a new directory in `out`, called `name` or, if that is taken, `name`-2 and so on.

    Raises:
        OSError: It cannot be created.
        NotOwnError: `out` is another user's link, or below one.
    """
    is_new = not out.exists()
    with open_directory(out, make=True) as dir_fd:
        if is_new:
            # Runs do not belong under version control, and would make the tree of every later run look changed.
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(".gitignore", flags, 0o666, dir_fd=dir_fd), "wb") as file:
                    file.write(b"*\n")
        number = 1
        while True:
            directory_name = name if number == 1 else f"{name}-{number}"
            try:
                os.mkdir(directory_name, dir_fd=dir_fd)
            except FileExistsError:
                number += 1
            else:
                return out / directory_name


def shell_path(path: Path) -> str:
    """Return a path as the user would type it in the current directory."""
    import shlex  # here, because a starting program does not need it

    try:
        relative = os.path.relpath(path)
    except OSError:  # the current directory has been deleted
        relative = str(path)
    return shlex.quote(relative if len(relative) < len(str(path)) else str(path))
