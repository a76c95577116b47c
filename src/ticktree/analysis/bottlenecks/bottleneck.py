"""Bottlenecks: what each step of a loop costs it, and how fast the loop could be without."""

from __future__ import annotations

from dataclasses import dataclass

from ticktree.analysis.bottlenecks.scores import Scores, device_memory_bytes, memory_bytes
from ticktree.analysis.bottlenecks.steps import Frame, Step
from ticktree.analysis.settings import Weights

NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How fast a loop is, and could be at most if something in it took no time.

    Amdahl, Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967: of a
    tick of T, without its part x, 1 / (T - x). Sleep that holds a rate is no part of T: it would only become longer.

    Attributes:
        now_ns: the tick without the sleep that holds its rate.
        free_ns: the same without the part.
    """

    now_ns: float
    free_ns: float

    @property
    def hz(self) -> float | None:
        """Ticks a second that the loop can do; None where its ticks take no time."""
        return NS_PER_SECOND / self.now_ns if self.now_ns > 0 else None

    @property
    def free_hz(self) -> float | None:
        """Ticks a second without the part; None where nothing would be left of the tick."""
        return NS_PER_SECOND / self.free_ns if self._is_left else None

    @property
    def speedup(self) -> float | None:
        """How many times as fast at most; None where nothing would be left of the tick."""
        return self.now_ns / self.free_ns if self._is_left else None

    @property
    def _is_left(self) -> bool:
        # What is left of a subtraction of large numbers may be nothing but their rounding.
        return self.free_ns > 1e-9 * self.now_ns


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A step of a loop, as far as the loop would gain by its being faster.

    Attributes:
        frame: the loop, or the run.
        step: the step. Its `self_ns` is what could be saved in a tick.
        share: its own time as a part of the tick.
        call_ns: own time a call; None where it was not called in the steady phase.
        ceiling: how fast the loop could be; None of what runs beside it, and of the sleep that holds its rate.
        score: 0 to 100, see `Scores`; None of what does not work on the loop's path.
        memory_bytes: the most that a call needed beyond what was there; None where not measured.
        device_memory_bytes: the same of a device's memory.
    """

    frame: Frame
    step: Step
    share: float
    call_ns: float | None
    ceiling: Ceiling | None
    score: float | None
    memory_bytes: int | None
    device_memory_bytes: int | None

    @property
    def at_stake_share(self) -> float:
        """What part of the loop's time would be saved at most; with a rate to hold, what is too slow for it."""
        return 0.0 if self.ceiling is None else saved_ns(self.frame, self.step.self_ns) / self.frame.tick_ns


def bottlenecks(frame: Frame, weights: Weights) -> list[Bottleneck]:
    """Return the steps of `frame`, the one with most own time on the loop's path first, then those beside it.

    What ticktree itself cost is no part of any of them.
    """
    scores = Scores(frame.steps, frame.tick_ns, weights)
    found = [
        _bottleneck(frame, step, scores) for step in frame.steps if step.self_ns > 0 or step.beside_ns > 0
    ]
    return sorted(
        found, key=lambda one: (one.step.is_parallel, -one.step.self_ns, -one.step.beside_ns, one.step.path)
    )


def ceiling(frame: Frame, ns: float) -> Ceiling:
    """Return how fast the loop of `frame` could be if `ns` of its mean tick took no time."""
    now_ns = frame.tick_ns - frame.slack_ns
    return Ceiling(now_ns, max(0.0, now_ns - ns))


def saved_ns(frame: Frame, ns: float) -> float:
    """Return how much shorter the mean tick would be at most if `ns` of it took no time.

    A loop that sleeps to hold its rate is no faster for having less to do.
    """
    free_ns = ceiling(frame, ns).free_ns
    budget_ns = frame.loop.budget_ns if frame.loop else None
    if budget_ns is not None and frame.slack_ns > 0:
        free_ns = max(free_ns, budget_ns)
    return max(0.0, frame.tick_ns - free_ns)


def _bottleneck(frame: Frame, step: Step, scores: Scores) -> Bottleneck:
    calls = step.calls
    on_path = step.self_ns > 0 and not step.is_parallel and not step.is_slack
    self_ns = step.beside_ns if step.is_parallel else step.self_ns
    return Bottleneck(
        frame=frame,
        step=step,
        share=self_ns / frame.tick_ns,
        call_ns=self_ns / calls if calls else None,
        ceiling=ceiling(frame, step.self_ns) if on_path else None,
        score=scores.of(step) if on_path and not step.is_wait else None,
        memory_bytes=memory_bytes(step),
        device_memory_bytes=device_memory_bytes(step),
    )
