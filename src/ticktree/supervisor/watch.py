"""Watching the machine while a program runs: readings become gauges, which are kept with the run."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.machine.readings import NS, Reading
from ticktree.machine.system import System
from ticktree.run.room import require_room

if TYPE_CHECKING:
    from ticktree.machine.gpus import Gpus
    from ticktree.profile import Gauge

# A last interval shorter than this says little, and nothing about a whole second.
LEAST_S = 0.2
# To save readings costs more than to take one: a killed supervisor loses at most a few seconds of them.
KEEP_EVERY = 5


class Watch:
    """Takes readings, and keeps what they tell.

    Args:
        folder: the run's memory directory.
        writer: the process that takes the readings.
        system: where they are taken.
        gpus: where those of GPUs are.
    """

    def __init__(
        self, folder: Path, writer: str, system: System | None = None, gpus: Gpus | None = None
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._system = system or System()
        self._gpus = gpus
        self._last: Reading | None = None
        self._gauges: dict[str, Gauge] = {}
        self._until_kept = 0

    def sample(self) -> None:
        """Take a reading; from the second one on it is known what the machine did since the one before."""
        self._go_on(self._system.read())

    def prepare(self) -> None:
        """Import what the second reading needs: slow, and not to be taken for what a reading takes."""
        require_room()
        import ticktree.machine.gpus
        import ticktree.machine.readings
        import ticktree.run.readings  # noqa: F401 - and those above: imported, and used later

    def end(self, used_ns: int) -> None:
        """Take the last reading, once the program has ended.

        Args:
            used_ns: CPU time of the program and its children, as the system says at their end.
        """
        if self._last is None:
            return
        last = self._system.read_at_end(used_ns)
        # Of a run that was too short for any other reading a rough one is better than none.
        if not self._gauges or last.at_ns - self._last.at_ns >= LEAST_S * NS:
            self._go_on(last)
        self._keep()

    def _go_on(self, reading: Reading) -> None:
        before, self._last = self._last, reading
        if before is not None:
            self._note(before, reading)
            if self._until_kept <= 0:
                self._keep()
            self._until_kept -= 1

    def _note(self, before: Reading, reading: Reading) -> None:
        require_room()
        from ticktree.machine.gpus import Gpus
        from ticktree.machine.readings import between, gauge_of

        self._gpus = self._gpus or Gpus()
        now_ns = time.time_ns()
        for name, value in {**between(before, reading), **self._gpus.read()}.items():
            one = gauge_of(name, value, now_ns, self._writer)
            self._gauges[name] = self._gauges[name] + one if name in self._gauges else one

    def _keep(self) -> None:
        from ticktree.run.readings import keep

        if self._gauges:
            with suppress(OSError):  # a full tmpfs: what is missing now may be kept with the next
                keep(self._folder, self._gauges)
                self._until_kept = KEEP_EVERY
