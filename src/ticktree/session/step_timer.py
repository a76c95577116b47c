"""StepTimer: time the parts of a step by a mark after each part, and keep running means."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Self

from ticktree.session.session import current


class StepTimer:
    """Times the parts of a step, and keeps the mean of each part over all steps except the first ones.

    It replaces a list of time stamps and the differences between them. While ticktree records, the step is a section
    and its parts are sections in it, with percentiles and everything else; the means are available in any case.

    Args:
        parts: Names of its parts, in order; parts without a name are numbered from 1.
        after: The number of first steps that the means leave out.
    """

    def __init__(self, name: str, parts: Iterable[str] = (), *, after: int = 0) -> None:
        self._section = current.recorder.section(name)
        self._parts = list(parts)
        self._after = after
        self._steps = 0
        self._sums: Counter[int] = Counter()  # nanoseconds by part
        self._counts: Counter[int] = Counter()
        self._stamps: list[int] = []

    def start(self) -> None:
        """Begin a step; discard a step that is still open."""
        if self._stamps:
            self._leave()
        self._section.__enter__()
        current.recorder.stage(self._name(0))
        self._stamps = [time.perf_counter_ns()]

    def append(self) -> None:
        """End a part of the step; the next one begins. Does nothing outside a step."""
        if self._stamps:
            current.recorder.stage(self._name(len(self._stamps)))
            self._stamps.append(time.perf_counter_ns())

    def stop(self) -> None:
        """End the last part and the step. Does nothing outside a step."""
        if not self._stamps:
            return
        self._stamps.append(time.perf_counter_ns())
        stamps = self._stamps
        self._leave()
        self._steps += 1
        if self._steps > self._after:
            for index, (begin, end) in enumerate(pairwise(stamps)):
                self._sums[index] += end - begin
                self._counts[index] += 1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.stop()
        elif self._stamps:
            self._leave()

    @property
    def steps(self) -> int:
        """Number of steps that ended, the first ones included."""
        return self._steps

    @property
    def means(self) -> dict[str, float]:
        """The mean of each part in seconds, over the steps that had it; empty before the first such step."""
        return {self._name(index): self._sums[index] / count / 1e9 for index, count in self._counts.items()}

    @property
    def mean(self) -> float | None:
        """The mean of the whole step in seconds; None before there is one."""
        steps = self._steps - self._after
        return self._sums.total() / steps / 1e9 if steps > 0 else None

    def __str__(self) -> str:
        if self.mean is None:
            return f"{self._section.name}: no step yet"
        parts = ", ".join(f"{name} {1e3 * seconds:.3f}" for name, seconds in self.means.items())
        return f"{self._section.name} {1e3 * self.mean:.3f} ms: {parts}"

    def _name(self, index: int) -> str:
        return self._parts[index] if index < len(self._parts) else str(index + 1)

    def _leave(self) -> None:
        self._stamps = []
        self._section.__exit__(None, None, None)
