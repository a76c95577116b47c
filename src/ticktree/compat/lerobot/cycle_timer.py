"""CycleTimer: holds and reports a loop's rate, as robot teleoperation, recording and policy rollout do."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ticktree.session import current


@dataclass(slots=True)
class Step:
    """A named part of the loop's body; times in seconds."""

    calls: int = 0
    total: float = 0.0
    worst: float = 0.0

    def add(self, seconds: float) -> None:
        """Add a call."""
        self.merge(Step(1, seconds, seconds))

    def merge(self, other: Step) -> None:
        """Add another's calls."""
        self.calls += other.calls
        self.total += other.total
        self.worst = max(self.worst, other.worst)


@dataclass(slots=True)
class Cadence:
    """Sums over ticks; times in seconds.

    Attributes:
        ticks: number of ticks that ended with a wait.
        work: total of their bodies, without the waits.
        gaps: number of intervals between the begins of two successive ticks, without those that were dropped.
        span: total of those intervals.
        late_ticks: number of ticks whose work was longer than their slot.
        starved: number of ticks without an action to send.
        cycles: the cycles that were compared with the budget.
        over: how many of them were over it.
        sleep: the waits.
        steps: the named parts of the body.
    """

    ticks: int = 0
    work: float = 0.0
    gaps: int = 0
    span: float = 0.0
    late_ticks: int = 0
    starved: int = 0
    cycles: Step = field(default_factory=Step)
    over: int = 0
    sleep: Step = field(default_factory=Step)
    steps: dict[str, Step] = field(default_factory=dict)

    def merge(self, other: Cadence) -> None:
        """Add another part of the loop."""
        for name in ("ticks", "work", "gaps", "span", "late_ticks", "starved", "over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cycles.merge(other.cycles)
        self.sleep.merge(other.sleep)
        for name, step in other.steps.items():
            self.steps.setdefault(name, Step()).merge(step)

    @property
    def hz(self) -> float | None:
        """Ticks per second, from begin to begin; None if there were less than two."""
        return self.gaps / self.span if self.span > 0 else None

    def lines(self, fps: float, multiplier: int) -> Iterator[str]:
        """Yield the summary, one fact per line, given the target rate in cycles per second and the ticks per cycle."""
        unit = "cycle" if multiplier > 1 else "tick"
        yield f"{self.ticks} ticks, target rate {fps:g} Hz" + (f" x {multiplier}" if multiplier > 1 else "")
        hz = self.hz
        if hz is not None:
            cycles = f", {hz / multiplier:.2f} cycles/s" if multiplier > 1 else ""
            yield f"achieved: {hz:.2f} ticks/s{cycles} over {self.span:.1f} s"
        if self.cycles.calls:
            mean_ms = 1e3 * self.cycles.total / self.cycles.calls
            yield (
                f"over the budget of {1e3 / fps:.1f} ms: {self.over} of {self.cycles.calls} {unit}s"
                f" ({self.over / self.cycles.calls:.1%}), work mean {mean_ms:.1f} ms, worst"
                f" {1e3 * self.cycles.worst:.1f} ms"
            )
        if multiplier > 1:
            slot_ms = 1e3 / (fps * multiplier)
            yield f"ticks over their slot of {slot_ms:.1f} ms: {self.late_ticks} of {self.ticks}"
        if self.starved:
            yield f"starved: {self.starved} ticks had no action to send"
        yield from self._step_lines()
        if self.sleep.calls:
            mean_ms = 1e3 * self.sleep.total / self.ticks
            yield f"slack: {mean_ms:.1f} ms per tick, at most {1e3 * self.sleep.worst:.1f} ms"

    def _step_lines(self) -> Iterator[str]:
        width = max(map(len, self.steps), default=0)
        for name, step in sorted(self.steps.items(), key=lambda item: -item[1].total):
            share = step.total / self.work if self.work > 0 else 0.0
            yield (
                f"  {name:<{width}}  mean {1e3 * step.total / step.calls:7.2f} ms  worst"
                f" {1e3 * step.worst:7.2f} ms  {share:6.1%} of work  {step.calls} calls"
            )


_logger = logging.getLogger(__name__)

_LOOP = "cycle"
# A sleep overshoots by the kernel's timer slack and wake-up time, so the last part polls the clock.
_SPIN_S = 200e-6


class CycleTimer:
    """Holds the rate of a loop and reports whether it succeeded.

    A cycle is `multiplier` ticks: with action interpolation the robot gets a command every tick, and the policy is
    called once per cycle. The loop calls `tick` at the top of its body and `wait` at the bottom. Due times count from
    the tick that began the cycle, so that a slow tick takes time from the cycle's other ticks. The timer warns in the
    log of a cycle whose work alone is longer than `1 / fps`, except for the first, which includes one-time costs.

    In a recorded run, the ticks are those of the loop `cycle`, with budget, misses, percentiles and worst ticks; the
    sections are its children, and so are the waits, as the section `sleep`.

    Args:
        fps: Cycles per second.
        multiplier: Ticks per cycle.
        records_data: Whether the loop records a dataset, whose frames a slow cycle may drop; for the warning.

    Raises:
        ValueError: `fps` or `multiplier` is not positive.
    """

    def __init__(self, fps: float, multiplier: int = 1, records_data: bool = True) -> None:
        if fps <= 0:
            raise ValueError(f"fps must be more than 0, not {fps}")
        if multiplier < 1:
            raise ValueError(f"multiplier must be at least 1, not {multiplier}")
        self.fps = fps
        self.multiplier = multiplier
        self.tick_interval = 1.0 / (fps * multiplier)
        self.cycle_interval = 1.0 / fps
        self.records_data = records_data
        self._cycle_began: float | None = None
        self._tick_began: float | None = None
        self._last_tick_began: float | None = None
        self._ticks_of_cycle = 0
        self._cycle_work: list[float] = []
        self._is_first_cycle = True
        self._skip_gap = False
        self._episode = Cadence()
        self._run = Cadence()
        self._episodes = 0
        self._episode_label: str | None = None

    def tick(self, new_cycle: bool = False) -> None:
        """Begin a tick; a `new_cycle`, in which the policy computes an action, restarts the due times."""
        current.recorder.tick(_LOOP, self.fps * self.multiplier)
        now = time.perf_counter()
        if self._episode_label is not None:
            self._close(self._episode_label)
            self._skip_gap = True
        if self._last_tick_began is not None and not self._skip_gap:
            self._episode.gaps += 1
            self._episode.span += now - self._last_tick_began
        self._skip_gap = False
        self._tick_began = self._last_tick_began = now
        if new_cycle or self._cycle_began is None:
            self._cycle_began = now
            self._ticks_of_cycle = 0

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Time a step of the loop's body. Steps that nest count in both."""
        began = time.perf_counter()
        try:
            with current.recorder.section(name):
                yield
        finally:
            self._episode.steps.setdefault(name, Step()).add(time.perf_counter() - began)

    def note_starved_tick(self) -> None:
        """Count a tick that had no action to send."""
        self._episode.starved += 1

    def restart(self) -> None:
        """Treat the next cycle as the first, after an operation that blocked once, such as a reset.

        The time up to the next tick does not count for the rate. Due times stay unchanged.
        """
        self._cycle_work = []
        self._is_first_cycle = True
        self._skip_gap = True

    def wait(self) -> None:
        """End the tick's work and sleep until the next tick is due. Without a tick it does nothing."""
        if self._cycle_began is None or self._tick_began is None:
            return
        now = time.perf_counter()
        work = now - self._tick_began
        self._tick_began = None
        self._ticks_of_cycle += 1
        due = self._cycle_began + self._ticks_of_cycle * self.tick_interval
        if self._ticks_of_cycle >= self.multiplier:
            self._cycle_began = None
        self._episode.ticks += 1
        self._episode.work += work
        self._episode.late_ticks += work > self.tick_interval
        self._judge(work)
        if due > now:
            with current.recorder.section("sleep", wait=True):
                _sleep_until(due)
            self._episode.sleep.add(time.perf_counter() - now)

    def log_episode_summary(self, label: str | None = None) -> None:
        """End an episode. Its cadence is logged when the next tick begins, which belongs to the next episode.

        Args:
            label: The episode's name; by default its number.
        """
        self._episode_label = label or f"episode {self._episodes + 1}"

    def log_run_summary(self) -> None:
        """Log the cadence of the run. Call it in the loop's `finally`, so that interrupted runs have a summary too."""
        if self._episode_label is not None:
            self._close(self._episode_label)
        self._run.merge(self._episode)
        self._episode = Cadence()
        if self._run.ticks:
            lines = self._run.lines(self.fps, self.multiplier)
            _logger.info("\n  ".join(["Cadence of the run", *lines]))

    def _judge(self, work: float) -> None:
        self._cycle_work.append(work)
        if len(self._cycle_work) < self.multiplier:
            return
        cycle_work = sum(self._cycle_work)
        self._cycle_work = []
        if self._is_first_cycle:
            self._is_first_cycle = False
            return
        self._episode.cycles.add(cycle_work)
        if cycle_work <= self.cycle_interval:
            return
        self._episode.over += 1
        consequence = "frames of the dataset may be missing, and " if self.records_data else ""
        _logger.warning(
            "The control loop works for %.1f ms where %g Hz leave %.1f ms: %sthe robot may move unsteadily.",
            1e3 * cycle_work,
            self.fps,
            1e3 * self.cycle_interval,
            consequence,
        )

    def _close(self, label: str) -> None:
        self._episode_label = None
        if not self._episode.ticks:
            return
        self._episodes += 1
        _logger.info("Cadence of %s: %s", label, "; ".join(self._episode.lines(self.fps, self.multiplier)))
        self._run.merge(self._episode)
        self._episode = Cadence()


def _sleep_until(due: float) -> None:
    remaining = due - time.perf_counter()
    if remaining > _SPIN_S:
        time.sleep(remaining - _SPIN_S)
    while time.perf_counter() < due:
        pass
