"""The names of runs, of their directories, and of what more than one module finds in these."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from ticktree.files.trust import any_directory

# What processes left that have ended, until the run is finished (folded.py).
FOLDED = "folded.json"
# Which processes found no room for a memory file (without_room.py).
WITHOUT_ROOM = "without-room"
# Which libraries could not be instrumented as expected (instrument_losses.py).
NOT_INSTRUMENTED = "not-instrumented"
# What the machine did, until the run is finished (machine/ceilings.py).
MACHINE = "machine.json"
# Stack samples, until the run is finished (sampled.py).
SAMPLES = "samples.json"
# Which rank a process is, as a pattern (fleet/store_slots.py).
RANK = r"rank-\d+\.json"


def clean_name(name: str, longest: int | None = 64) -> str:
    """`name` with what is a nuisance in file names replaced; never empty, never longer than `longest`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:longest] or "run"


def make_unique(out: Path, name: str) -> Path:
    """Make a directory in `out` that was not there, called `name` or, if that is taken, `name`-2 and so on.

    Raises:
        OSError: It cannot be made.
        NotOwnError: `out` is a link of another user's, or behind one.
    """
    is_new = not out.exists()
    with any_directory(out, make=True) as at:
        if is_new:
            # What is measured is not what is versioned; and it would make every later run's tree look changed.
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(".gitignore", flags, 0o666, dir_fd=at), "wb") as file:
                    file.write(b"*\n")
        number = 1
        while True:
            unique = name if number == 1 else f"{name}-{number}"
            try:
                os.mkdir(unique, dir_fd=at)
            except FileExistsError:
                number += 1
            else:
                return out / unique


def as_typed(path: Path) -> str:
    """Return a path as the user would type it from here."""
    import shlex  # here, because a profiled program that starts needs no path for its user

    try:
        relative = os.path.relpath(path)
    except OSError:  # the current directory has been deleted
        relative = str(path)
    return shlex.quote(relative if len(relative) < len(str(path)) else str(path))
