"""Times small pieces of code against a yardstick, interleaved so that a busy machine slows both alike.

Every repeat measures a contender and its yardstick one right after the other and keeps only their ratio.
Drift of the clock frequency, a neighbour on the core, a colder cache: whatever lasts longer than the two
short blocks cancels.
"""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import repeat

from harness.spread import Spread

Block = Callable[[int], None]
"""Does the thing that many times, in its own loop."""

SEED = 20261121  # the order of contenders is shuffled, but the same way in every run


def nothing(turns: int) -> None:
    """Costs nothing: for contenders whose whole block counts."""


def empty_loop(turns: int) -> None:
    for _ in repeat(None, turns):
        pass


def two_clock_reads(turns: int) -> None:
    """The yardstick: the two calls that people write to time code by hand.

    Nothing is done with what they return: what timing by hand also has to do, a subtraction and a sum, would
    make the yardstick longer.
    """
    for _ in repeat(None, turns):
        time.perf_counter_ns()
        time.perf_counter_ns()


@dataclass(frozen=True, slots=True)
class Cost:
    """What `block` takes over `bare`, shared among the `sections` that each turn holds."""

    block: Block
    bare: Block = empty_loop
    sections: int = 1
    block_ns: int = 4_000_000  # long against the clock, short against the scheduler's time slice

    def turns(self) -> int:
        """How many turns fill `block_ns`, found by trying; this also warms everything up."""
        turns = 1
        while (elapsed := stopwatch(self.block, turns)) < self.block_ns // 4:
            turns *= 4 if elapsed < self.block_ns // 16 else 2
        return max(1, turns * self.block_ns // elapsed)

    def measure(self, turns: int) -> float:
        """Nanoseconds a section, once."""
        return (stopwatch(self.block, turns) - stopwatch(self.bare, turns)) / turns / self.sections


HAND_WRITTEN = Cost(two_clock_reads)


@dataclass(frozen=True, slots=True)
class Contender:
    """A cost with a name, what it is measured against, and what must be switched on meanwhile."""

    name: str
    cost: Cost
    yardstick: Cost = HAND_WRITTEN
    session: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True)
class Finish:
    """A contender's result: its cost in yardsticks, and both costs in nanoseconds a section."""

    ratio: Spread
    cost_ns: Spread
    yardstick_ns: Spread


def race(contenders: Sequence[Contender], rounds: int) -> dict[str, Finish]:
    """Measures every contender once a round, in an order shuffled each round.

    Args:
        contenders: what to measure; their names are the keys of the result.
        rounds: how many repeats.
    """
    shuffler = random.Random(SEED)
    turns: dict[str, tuple[int, int]] = {}
    for contender in contenders:
        with contender.session():
            turns[contender.name] = (contender.cost.turns(), contender.yardstick.turns())
    laps: dict[str, list[tuple[float, float]]] = {contender.name: [] for contender in contenders}
    order = list(contenders)
    with settled_heap():
        for number in range(rounds):
            shuffler.shuffle(order)
            for contender in order:
                gc.collect()
                with contender.session():
                    pair = lap(contender, turns[contender.name], yardstick_first=number % 2 == 0)
                laps[contender.name].append(pair)
    return {name: finish(pairs) for name, pairs in laps.items()}


def lap(contender: Contender, turns: tuple[int, int], *, yardstick_first: bool) -> tuple[float, float]:
    """One repeat: the contender's cost and the yardstick's, in nanoseconds a section."""
    cost_turns, yardstick_turns = turns
    if yardstick_first:
        yardstick_ns = contender.yardstick.measure(yardstick_turns)
        return contender.cost.measure(cost_turns), yardstick_ns
    return contender.cost.measure(cost_turns), contender.yardstick.measure(yardstick_turns)


def finish(laps: Sequence[tuple[float, float]]) -> Finish:
    return Finish(
        ratio=Spread.of([cost_ns / yardstick_ns for cost_ns, yardstick_ns in laps]),
        cost_ns=Spread.of([cost_ns for cost_ns, _ in laps]),
        yardstick_ns=Spread.of([yardstick_ns for _, yardstick_ns in laps]),
    )


def stopwatch(block: Block, turns: int) -> int:
    """Nanoseconds of processor time: what else runs on this machine meanwhile is not charged to the block.

    No block waits for anything, so on an idle machine this is the time on the clock.
    """
    start = time.process_time_ns()
    block(turns)
    return time.process_time_ns() - start


@contextmanager
def settled_heap() -> Iterator[None]:
    """Keeps what is loaded out of the garbage collector's rounds.

    The collector stays on, as it is in the programs that get profiled, and a contender that makes garbage
    pays for it; but none pays for the modules that another one imported.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def in_threads(block: Block, count: int) -> Block:
    """The same turns, shared among threads that start together."""

    def shared(turns: int) -> None:
        together = threading.Barrier(count)

        def work() -> None:
            together.wait()
            block(turns // count)

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return shared
