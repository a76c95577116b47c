"""The store transport's process: started by the supervisor, it ends with it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.helper_process import ONLOOKER, SUPERVISOR, environment

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

EVERY_S = 1.0
# Reading takes time from the program where all cores are busy: at most a twentieth of one core.
_REST = 19
_LONGEST_REST_S = 60.0
_PATIENCE_S = 1.0


class GathererProcess:
    """A process that carries what a run has recorded every so many ticks.

    Args:
        every: How many.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, run: RunDirectory) -> None:
        """Start it.

        Raises:
            OSError: It cannot be started.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(run.path), str(self._every)],
            stdin=subprocess.PIPE,  # it ends when this does, and so with us, however we end
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=run.path,  # where no module of the program's can be taken for one of ours
            env=environment(),
            start_new_session=True,  # what the keyboard sends is the program's
        )

    def end(self) -> None:
        """See that it is over: what it is at is given up."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(path: str, every: str) -> None:
    """Be that process."""
    # Slow to import, and the supervisor needs none of it.
    from ticktree.fleet.gatherer import RankGatherer
    from ticktree.run.finishing import RunDirectory

    os.nice(ONLOOKER - SUPERVISOR)
    run = RunDirectory.join(Path(path))
    gatherer = RankGatherer(run, int(every))
    rest_s = EVERY_S
    while not _has_ended(rest_s) and not run.is_finished():
        spent_s = 0.0
        with suppress(Exception):
            spent_s = gatherer.look()
        rest_s = min(max(EVERY_S, _REST * spent_s), _LONGEST_REST_S)


def _has_ended(within_s: float) -> bool:
    """Whether the supervisor is gone, or is within so many seconds."""
    ready, _, _ = select.select([sys.stdin], [], [], within_s)
    return bool(ready)


if __name__ == "__main__":
    main(*sys.argv[1:])
