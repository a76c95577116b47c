"""Cost of focus, outside and below the function in focus, compared with tools that record every call.

The loop is of a control step's shape: a driver whose step calls controller, forwarder, merger and environment, some
dozen calls of Python functions and C functions. Each figure is of blocks that follow each other closely: bare, then
with a tool on, in one process; the order of the tools is shuffled. Times are the thread's CPU times: what others on
the machine take is no cost of a tool.
"""

from __future__ import annotations

import cProfile
import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import ticktree
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.spread import Spread

OUTSIDE_TARGET = 1.03
INSIDE_TARGET = 0.45 if sys.version_info >= (3, 12) else 1.0
STEPS = 1_500
WARM_STEPS = 300  # what is met for the first time is given its name

Session = Callable[[], AbstractContextManager[object]]


class Forwarder:
    """Feeds an observation through layers."""

    def step(self, observation: float) -> float:
        """One forward pass."""
        for layer in range(4):
            observation = self._layer(layer, observation)
        return observation

    def _layer(self, layer: int, value: float) -> float:
        total = value
        for weight in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
            total += weight * layer - value * weight
        return max(-1.0, min(1.0, total))


class Merger:
    """Merges the answers of several models."""

    def step(self, values: list[float]) -> float:
        """Their mean."""
        return self._mean(sorted(values))

    def _mean(self, values: list[float]) -> float:
        return sum(values) / len(values)


class Environment:
    """A mass on a spring."""

    def __init__(self) -> None:
        self._position = self._speed = 0.0

    def step(self, force: float) -> float:
        """One time step."""
        for _ in range(3):
            self._integrate(force)
        return self._observe()

    def _integrate(self, force: float) -> None:
        self._speed += (force - self._position) * 0.01
        self._position += self._speed * 0.01

    def _observe(self) -> float:
        return round(self._position, 6)


class Driver:
    """Drives an environment with a model."""

    def __init__(self) -> None:
        self._forwarder, self._merger, self._environment = Forwarder(), Merger(), Environment()
        self._observation = 0.0

    def step(self) -> None:
        """One trip round the loop: what is in focus."""
        self._once()

    def outside(self) -> None:
        """The same, never in focus."""
        self._once_outside()

    def step_under_session(self) -> None:
        """What the function in focus calls too."""
        self._once()

    def _once(self) -> None:
        targets = [self._forwarder.step(self._observation) for _ in range(2)]
        self._observation = self._environment.step(self._merger.step(targets))

    def _once_outside(self) -> None:
        targets = [_outer_forward(self._observation) for _ in range(2)]
        self._observation = _outer_simulation(sum(targets) / len(targets))


def _outer_forward(observation: float) -> float:
    for layer in range(4):
        observation = _outer_layer(layer, observation)
    return observation


def _outer_layer(layer: int, value: float) -> float:
    total = value
    for weight in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        total += weight * layer - value * weight
    return max(-1.0, min(1.0, total))


def _outer_simulation(force: float) -> float:
    return round(_outer_part(_outer_part(_outer_part(force))), 6)


def _outer_part(force: float) -> float:
    return force - (force - 0.1) * 0.01


@contextmanager
def _focus(**options: Any) -> Iterator[None]:
    ticktree.focus(f"{__name__}.Driver.step", **options)
    try:
        yield
    finally:
        ticktree.focus()


@contextmanager
def _viztracer(module: ModuleType) -> Iterator[None]:
    tracer = module.VizTracer(verbose=0, tracer_entries=2_000_000)
    tracer.start()
    try:
        yield
    finally:
        tracer.stop()
        tracer.clear()


@contextmanager
def _yappi(module: ModuleType) -> Iterator[None]:
    module.set_clock_type("wall")
    module.start()
    try:
        yield
    finally:
        module.stop()
        module.clear_stats()


def _tools() -> tuple[dict[str, Session], list[Absent]]:
    """Those that record calls here, by name, and those that are not installed."""
    tools: dict[str, Session] = {
        "ticktree focus": lambda: _focus(depth=8),
        "ticktree focus, C functions too": lambda: _focus(depth=8, c_functions=True),
        "cProfile": cProfile.Profile,
    }
    absent: list[Absent] = []
    for name, session in (("viztracer", _viztracer), ("yappi", _yappi)):
        try:
            module = __import__(name)
        except ImportError:
            absent.append(Absent(name, "not installed"))
        else:
            tools[name] = lambda session=session, module=module: session(module)  # type: ignore[misc]
    return tools, absent


def _time_steps(step: Callable[[], None], session: Session) -> float:
    """Nanoseconds a step with a tool on, once it has met everything."""
    with session():
        for _ in range(WARM_STEPS):
            step()
        return _block(step)


def _block(step: Callable[[], None]) -> float:
    start_ns = time.thread_time_ns()
    for _ in range(STEPS):
        step()
    return (time.thread_time_ns() - start_ns) / STEPS


def measure(rounds: int) -> Report:
    driver = Driver()
    tools, absent = _tools()
    shuffler = random.Random(20261121)
    bare: dict[str, list[float]] = {name: [] for name in tools}
    inside: dict[str, list[float]] = {name: [] for name in tools}
    outside: list[float] = []
    shared_costs: list[float] = []
    with recording():
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for name in shuffler.sample(list(tools), len(tools)):
                gc.collect()
                bare[name].append(_time_steps(driver.step, nullcontext))
                inside[name].append(_time_steps(driver.step, tools[name]))
            outside.append(_outside(driver, driver.outside, tools["ticktree focus"]))
            shared_costs.append(_outside(driver, driver.step_under_session, tools["ticktree focus"]))
    cost = {
        name: [with_tool - off for with_tool, off in zip(inside[name], bare[name], strict=True)]
        for name in tools
    }
    lines: list[Figure | Absent] = [
        Figure.of_spread("outside, of the bare loop", Spread.of(outside), "x", target=OUTSIDE_TARGET),
        Figure.of_spread(
            "outside, functions that are called in focus too",
            Spread.of(shared_costs),
            "x",
            note="they report their calls, and learn that nothing is in focus",
        ),
    ]
    for name in tools:
        ratios = [
            ticktree_cost / theirs for ticktree_cost, theirs in zip(cost[name], cost["cProfile"], strict=True)
        ]
        lines.append(
            Figure.of_spread(
                f"{name}: added time, of cProfile's",
                Spread.of(ratios),
                "x",
                target=INSIDE_TARGET if name == "ticktree focus" else None,
                also={
                    "step us": Spread.of(inside[name]).median / 1e3,
                    "bare us": Spread.of(bare[name]).median / 1e3,
                },
            )
        )
    return Report(
        "focus", "A control step of some thirty calls, each recorded by its call site", [*lines, *absent]
    )


def _outside(driver: Driver, step: Callable[[], None], focus: Session) -> float:
    """A loop outside the function in focus, once that has been found, of the same loop without focus."""
    before = _time_steps(step, nullcontext)
    with focus():
        for _ in range(10):
            driver.step()
        during = _time_steps(step, nullcontext)
    after = _time_steps(step, nullcontext)
    return 2 * during / (before + after)


def main() -> None:
    arguments = options(__doc__).parse_args()
    measure(7 if arguments.quick else 60).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
