"""Cadence: what the ticks of a paced loop add up to, over an episode or a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


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
        ticks: ended by a wait.
        work: of their bodies, the waits left out.
        gaps: between one tick's beginning and the next, how many; those that were dropped are not among them.
        span: those gaps together.
        late_ticks: whose work was longer than their slot.
        starved: that had no action to send.
        cycles: groups of ticks that were judged against the budget, as a step each.
        over: of those, how many were over it.
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
        """Add another stretch of the loop."""
        for name in ("ticks", "work", "gaps", "span", "late_ticks", "starved", "over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cycles.merge(other.cycles)
        self.sleep.merge(other.sleep)
        for name, step in other.steps.items():
            self.steps.setdefault(name, Step()).merge(step)

    @property
    def hz(self) -> float | None:
        """Ticks a second, from one's beginning to the next's; None where there were not two."""
        return self.gaps / self.span if self.span > 0 else None

    def lines(self, fps: float, multiplier: int) -> Iterator[str]:
        """Yield the summary, one fact a line.

        Args:
            fps: Cycles a second that were meant.
            multiplier: Ticks a cycle.
        """
        unit = "cycle" if multiplier > 1 else "tick"
        yield (
            f"{self.ticks} ticks, {fps:g} Hz x {multiplier} asked"
            if multiplier > 1
            else (f"{self.ticks} ticks, {fps:g} Hz asked")
        )
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
        yield from self._of_steps()
        if self.sleep.calls:
            mean_ms = 1e3 * self.sleep.total / self.ticks
            yield f"asleep: {mean_ms:.1f} ms a tick, at most {1e3 * self.sleep.worst:.1f} ms"

    def _of_steps(self) -> Iterator[str]:
        width = max(map(len, self.steps), default=0)
        for name, step in sorted(self.steps.items(), key=lambda item: -item[1].total):
            share = step.total / self.work if self.work > 0 else 0.0
            yield (
                f"  {name:<{width}}  mean {1e3 * step.total / step.calls:7.2f} ms  worst"
                f" {1e3 * step.worst:7.2f} ms  {share:6.1%} of work  {step.calls} calls"
            )
