"""The names of runs, of their directories, and of what more than one module finds in these."""

from __future__ import annotations

import re
from pathlib import Path

# What processes left that have ended, until the run is finished (folded.py).
FOLDED = "folded.json"
# What the machine did, until the run is finished (machine/kept.py).
MACHINE = "machine.json"
# Which rank a process is, as a pattern (courier/ranks.py).
RANK = r"rank-\d+\.json"


def clean_name(name: str, longest: int | None = 64) -> str:
    """`name` with what is a nuisance in file names replaced; never empty, never longer than `longest`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:longest] or "run"


def make_unique(out: Path, name: str) -> Path:
    """Make a directory in `out` that was not there, called `name` or, if that is taken, `name`-2 and so on.

    Raises:
        OSError: It cannot be made.
    """
    if not out.exists():
        out.mkdir(parents=True, exist_ok=True)
        # What is measured is not what is versioned; and it would make every later run's tree look changed.
        (out / ".gitignore").write_text("*\n", encoding="ascii")
    number = 1
    while True:
        path = out / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
