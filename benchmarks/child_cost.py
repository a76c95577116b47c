"""Time that a child adds to its parent's self time: the cost of ticktree that its calibration misses.

A section costs time before it reads the clock and after it has read it again. That time lies in the parent's
own, where it would pass for the parent's work. ticktree estimates it and shows it apart (`recorder_ns`); here
the rest is measured: a parent's self time less that estimate, less what the same loop takes without children.
Sizes count, not signs: taking away too much is as wrong as too little.

No timer is free of this. Next to each figure stands what two hand-written time stamps leave in the same place.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import repeat
from typing import NamedTuple

import numpy as np

import ticktree
from arm import Arm
from harness.race import SEED, settled_heap
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.sections import Section, own_code
from harness.spread import Spread
from peers import Peer, load_peers
from ticktree.profile import Node

TARGET_NS = 30.0
WARM_TURNS = 2_000  # a millisecond, within which a busy machine mostly leaves it alone
LINE = 64  # bytes of a cache line
MIB = 1 << 20

Between = Callable[[], int]
"""What a parent does before each child; returns the nanoseconds of it that are to be left out of account."""


class Unseen(NamedTuple):
    """What a child leaves in its parent's self time, in nanoseconds."""

    after: float  # once ticktree's estimate is taken away
    before: float | None = None  # uncorrected; None without an estimate
    by_hand: float | None = None  # what two time stamps leave there in a child's place; None where not tried


Scenario = Callable[[], Sequence[Unseen]]
"""One repeat: as many results as it has parents to look at."""


def work() -> int:
    """Some work of the parent's own, from which an estimate can be taken away."""
    sum(range(24))
    return 0


def sweeper(size: int) -> Between:
    """Pushes everything out of smaller caches, reading a byte of every line of a buffer of so many bytes."""
    buffer = np.zeros(size, dtype=np.uint8)

    def sweep() -> int:
        start = time.perf_counter_ns()
        buffer[::LINE].max()
        return time.perf_counter_ns() - start

    return sweep


def stepper() -> Between:
    """A step of the control loop of `step.py`, which leaves the caches as a real program does."""
    arm = Arm()

    def step() -> int:
        start = time.perf_counter_ns()
        arm.simulate(arm.limit(arm.decide(arm.observe())))
        return time.perf_counter_ns() - start

    return step


def bare(turns: int, between: Between, section: Section) -> int:
    left_out_ns = 0
    with section("bare"):
        for _ in repeat(None, turns):
            left_out_ns += between()
    return left_out_ns


def one_child(turns: int, between: Between, section: Section) -> int:
    left_out_ns = 0
    with section("parent"):
        for _ in repeat(None, turns):
            left_out_ns += between()
            with section("child"):
                pass
    return left_out_ns


def stamped(turns: int, between: Between, section: Section) -> int:
    """Two time stamps where the child would be."""
    left_out_ns = timed_ns = 0
    with section("stamped"):
        for _ in repeat(None, turns):
            left_out_ns += between()
            start = time.perf_counter_ns()
            timed_ns += time.perf_counter_ns() - start
    return left_out_ns + timed_ns


def three_deep(turns: int, section: Section) -> None:
    with section("parent"):
        for _ in repeat(None, turns):
            work()
            with section("a"):
                work()
                with section("b"):
                    work()
                    with section("c"):
                        work()


def below(turns: int, between: Between) -> Scenario:
    """One child below a parent, `turns` times."""

    def scenario() -> list[Unseen]:
        ticktree.reset()
        left_out_ns = {
            "bare": bare(turns, between, ticktree.section),
            "parent": one_child(turns, between, ticktree.section),
            "stamped": stamped(turns, between, ticktree.section),
        }
        root = ticktree.snapshot().root
        self_ns = {name: (root.at(name).self_ns - ns) / turns for name, ns in left_out_ns.items()}
        before = self_ns["parent"] - self_ns["bare"]
        estimate = estimated_ns(root.at("parent"), root.at("bare"), turns)
        return [Unseen(before - estimate, before, self_ns["stamped"] - self_ns["bare"])]

    return scenario


def deep() -> list[Unseen]:
    """Each of three parents in one another, and one that has no child: the loop, or the innermost section."""
    ticktree.reset()
    bare(WARM_TURNS, work, ticktree.section)
    three_deep(WARM_TURNS, ticktree.section)
    root = ticktree.snapshot().root
    pairs = [("parent", "bare"), ("parent/a", "parent/a/b/c"), ("parent/a/b", "parent/a/b/c")]
    results = []
    for parent, alone in ((root.at(path), root.at(bare_path)) for path, bare_path in pairs):
        before = (parent.self_ns - alone.self_ns) / WARM_TURNS
        results.append(Unseen(before - estimated_ns(parent, alone, WARM_TURNS), before))
    return results


def estimated_ns(parent: Node, alone: Node, turns: int) -> float:
    """What ticktree takes for a child's cost within its parent, in nanoseconds a child."""
    return (parent.recorder_ns - alone.recorder_ns) / turns


def peer_scenario(section: Section, total_s: Callable[[str], float]) -> Scenario:
    """The warm scenario of a peer, which estimates nothing."""
    without, with_child = own_code(bare), own_code(one_child)

    def unseen_ns() -> float:
        return (total_s("parent") - total_s("parent/child") - total_s("bare")) * 1e9

    def scenario() -> list[Unseen]:
        without(1, work, section)  # so that the names are there
        with_child(1, work, section)
        start_ns = unseen_ns()
        without(WARM_TURNS, work, section)
        with_child(WARM_TURNS, work, section)
        return [Unseen((unseen_ns() - start_ns) / WARM_TURNS)]

    return scenario


def scenarios(peers: Sequence[Peer]) -> dict[tuple[str, ...], Scenario]:
    """All that is measured, by the names of the results."""
    by_names: dict[tuple[str, ...], Scenario] = {
        ("warm",): below(WARM_TURNS, work),
        ("cool: a control step before each",): below(200, stepper()),
        ("cold: 4 MiB swept before each",): below(100, sweeper(4 * MIB)),
        ("cold: 64 MiB swept before each",): below(16, sweeper(64 * MIB)),
        ("3 deep: the outermost parent", "3 deep: the middle one", "3 deep: the inmost one"): deep,
    }
    theirs: dict[tuple[str, ...], Scenario] = {
        (peer.name,): peer_scenario(peer.section, peer.total_s)
        for peer in peers
        if peer.section is not None and peer.total_s is not None
    }
    return by_names | theirs


def repeats(by_names: dict[tuple[str, ...], Scenario], rounds: int) -> dict[str, list[Unseen]]:
    """Runs all scenarios once a round, in an order shuffled each round."""
    shuffler = random.Random(SEED)
    order = list(by_names)
    results: dict[str, list[Unseen]] = {name: [] for names in by_names for name in names}
    for scenario in by_names.values():
        scenario()  # the first of each meets code that has never run
    with settled_heap():
        for _ in range(rounds):
            shuffler.shuffle(order)
            for names in order:
                for name, result in zip(names, by_names[names](), strict=True):
                    results[name].append(result)
    return results


def line(name: str, results: Sequence[Unseen], note: str) -> Figure:
    also = {
        "uncalibrated ns": [result.before for result in results if result.before is not None],
        "by hand ns": [result.by_hand for result in results if result.by_hand is not None],
    }
    return Figure.of_spread(
        name,
        Spread.of([result.after for result in results]),
        "ns",
        target=TARGET_NS if also["uncalibrated ns"] else None,
        also={key: Spread.of(values).median for key, values in also.items() if values},
        note=note,
    )


def measure(rounds: int, *, with_peers: bool) -> list[Figure | Absent]:
    with ExitStack() as stack:
        peers, absent = load_peers(stack) if with_peers else ([], [])
        stack.enter_context(recording())
        progress("parents with and without children")
        results = repeats(scenarios(peers), rounds)
    notes = {peer.name: peer.described for peer in peers}
    return [*(line(name, values, notes.get(name, "")) for name, values in results.items()), *absent]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--no-peers", action="store_true", help="ticktree alone")
    arguments = parser.parse_args()
    lines = measure(25 if arguments.quick else 200, with_peers=not arguments.no_peers)
    title = "What an empty child adds to its parent's self time, after ticktree's calibration"
    Report("child_cost", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
