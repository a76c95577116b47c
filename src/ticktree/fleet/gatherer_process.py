"""The store transport's process: the supervisor starts it, and it ends with the supervisor."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.helper_process import READER_NICENESS, SUPERVISOR_NICENESS, environment

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory

EVERY_S = 1.0
# If all cores are busy, reading takes time from the program: at most a twentieth of one core.
_REST_FACTOR = 19
_MAX_REST_S = 60.0
_PATIENCE_S = 1.0


class GathererProcess:
    """A process that uploads a run's profile every few ticks.

    Args:
        every: Number of ticks between two uploads.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, run: RunDirectory) -> None:
        """Start the process.

        Raises:
            OSError: The process cannot be started.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(run.path), str(self._every)],
            stdin=subprocess.PIPE,  # the process ends when this closes, so with us, however we end
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=run.path,  # where no module of the program can shadow one of ours
            env=environment(),
            start_new_session=True,  # signals of the keyboard are for the program
        )

    def end(self) -> None:
        """End the process; an upload in progress is abandoned."""
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
    """Run as that process."""
    # Slow to import, and the supervisor does not need them.
    from ticktree.fleet.gatherer import RankGatherer
    from ticktree.run.finishing import RunDirectory

    os.nice(READER_NICENESS - SUPERVISOR_NICENESS)
    run = RunDirectory.join(Path(path))
    gatherer = RankGatherer(run, int(every))
    rest_s = EVERY_S
    while not _has_ended(rest_s) and not run.is_finished():
        spent_s = 0.0
        with suppress(Exception):
            spent_s = gatherer.look()
        rest_s = min(max(EVERY_S, _REST_FACTOR * spent_s), _MAX_REST_S)


def _has_ended(within_s: float) -> bool:
    """Return whether the supervisor has ended, or ends within a timeout."""
    ready, _, _ = select.select([sys.stdin], [], [], within_s)
    return bool(ready)


if __name__ == "__main__":
    main(*sys.argv[1:])
