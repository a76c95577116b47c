"""Whether a program started by `ticktree run` is recorded here: one is started and looked at."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.recorder import OFF_FOR_GOOD, OFF_VARIABLE, gil
from ticktree.run.finishing import RunDirectory

_PROGRAM = "import ticktree\nwith ticktree.section('here'): pass"
_PTH = "ticktree.pth"


def check() -> Iterator[str]:
    """Yield whether it works, and if not, why."""
    try:
        with tempfile.TemporaryDirectory(prefix="ticktree-doctor-") as out:
            complaint, recorded = _record(Path(out))
    except (TicktreeError, OSError) as error:
        yield f"Does not work: {error}."
        return
    if recorded:
        yield "Works: a small program was started, recorded and read back."
        return
    yield "Does not work: a small program was started, and nothing of it was recorded."
    if complaint:
        yield f"It said: {complaint}"
    if OFF_FOR_GOOD and not gil.is_kept_off():  # which the line on Python says
        yield f"{OFF_VARIABLE} is set, which turns ticktree off for good."
    elif not any((place / _PTH).is_file() for place in _places()):
        yield f"{_PTH} is not where this Python looks for such files; install ticktree again."


def _record(out: Path) -> tuple[str, bool]:
    """Run the program; return what it said on standard error, and whether its section was recorded."""
    run = RunDirectory.create("doctor", out, supervised=True)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "TICKTREE_RUN": str(run.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    finally:
        profile = run.finish()
    return done.stderr.strip(), "here" in profile.root.children


def _places() -> Iterator[Path]:
    yield from map(Path, site.getsitepackages())
    if site.ENABLE_USER_SITE:
        yield Path(site.getusersitepackages())
