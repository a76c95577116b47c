"""Watch the machine while a program runs: readings become gauges, which are saved with the run."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.machine.readings import MIN_ELAPSED_S, NS, Reading
from ticktree.machine.system import System
from ticktree.run.free_memory import require_free_memory

if TYPE_CHECKING:
    from ticktree.machine.gpus import GpuReader
    from ticktree.profile import Gauge

# Readings between two saves: a save costs more than a reading; a killed supervisor loses at most a few seconds.
SAVE_EVERY = 5


class Watch:
    """Takes readings of the machine, and saves them as gauges.

    Args:
        folder: the run's memory directory.
        process: id of the process that takes the readings.
        began_ns: when the run began, on the clock of the readings.
        system: the system to read.
        gpus: the GPUs to read.
    """

    def __init__(
        self,
        folder: Path,
        process: str,
        began_ns: int,
        system: System | None = None,
        gpus: GpuReader | None = None,
    ) -> None:
        self._folder = folder
        self._process = process
        self._began_ns = began_ns
        self._system = system or System()
        self._gpus = gpus
        self._last: Reading | None = None
        self._gauges: dict[str, Gauge] = {}
        self._until_save = 0

    def sample(self) -> None:
        """Take a reading; from the second one on, gauges cover the time since the one before."""
        self._add(self._system.read())

    def prepare(self) -> None:
        """Import what the second reading needs: it is slow, and must not count as the cost of a reading."""
        require_free_memory()
        import ticktree.machine.gpus
        import ticktree.machine.readings
        import ticktree.run.observations  # noqa: F401 - like those above, used later

    def end(self, used_ns: int) -> None:
        """Take the last reading, once the program has ended.

        Args:
            used_ns: CPU time of the program and its children, from the system at their end.
        """
        if self._last is None:
            return
        last = self._system.read_at_end(used_ns)
        # A very short interval is not representative; only in a run without any other reading it is better than none.
        if not self._gauges or last.at_ns - self._last.at_ns >= MIN_ELAPSED_S * NS:
            self._add(last)
        self._save()

    def _add(self, reading: Reading) -> None:
        before, self._last = self._last, reading
        if before is not None:
            self._note(before, reading)
            if self._until_save <= 0:
                self._save()
            self._until_save -= 1

    def _note(self, before: Reading, reading: Reading) -> None:
        require_free_memory()
        from ticktree.machine.gpus import GpuReader
        from ticktree.machine.readings import between, gauge_of

        self._gpus = self._gpus or GpuReader()
        now_ns = time.time_ns()
        for name, value in {**between(before, reading), **self._gpus.read()}.items():
            gauge = gauge_of(name, value, reading.at_ns - self._began_ns, now_ns, self._process)
            self._gauges[name] = self._gauges[name] + gauge if name in self._gauges else gauge

    def _save(self) -> None:
        from ticktree.run.observations import write_gauges

        if self._gauges:
            with suppress(OSError):  # a full tmpfs: the next save may succeed
                write_gauges(self._folder, self._gauges)
                self._until_save = SAVE_EVERY
