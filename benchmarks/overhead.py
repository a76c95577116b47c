"""Cost of an empty section, relative to timing the same code by hand.

One is what two `time.perf_counter_ns()` calls cost, on top of the empty loop that they stand in, and ticktree
stands in the same loop. What else timing by hand may cost has its own rows, and so have the peers. See
`harness/race.py` for how contenders are kept comparable on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import repeat

from harness.race import Block, Contender, Cost, Finish, empty_loop, in_threads, race, two_clock_reads
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.sections import calls
from peers import Peer, load_peers
from ticktree import loop, section, stage, timed

THREADS = 8
THREADED_BLOCK_NS = 160_000_000  # several of the interpreter's 5 ms turns for each of eight threads
TARGETS = {
    "section by name": 0.75,
    "section bound": 0.60,
    "@timed, over the bare call": 0.40,
    "stage": 0.45,
    "section by name, disabled": 0.45,
    "@timed, disabled": 0.25,
}
# To be no dearer than a section by name in the same run, within what repeats of one thing differ by.
NO_DEARER = ("3 deep, per section", "8 threads, per section")
TOLERANCE = 1.05


def by_name(turns: int) -> None:
    for _ in repeat(None, turns):
        with section("x"):
            pass


def bound(turns: int) -> None:
    block = section("x")
    for _ in repeat(None, turns):
        with block:
            pass


def nested(turns: int) -> None:
    for _ in repeat(None, turns):
        with section("x"), section("y"), section("z"):
            pass


def stages(turns: int) -> None:
    """Two stages a turn, each ending the one before it."""
    for _ in loop("stages", range(1)):
        for _ in repeat(None, turns):
            stage("x")
            stage("y")


def disabled(turns: int) -> None:
    """The same as `by_name`, in bytecode that has not adapted to being enabled."""
    for _ in repeat(None, turns):
        with section("x"):
            pass


def summed_by_hand(turns: int) -> None:
    """The least that timing by hand needs for a total."""
    total_ns = 0
    for _ in repeat(None, turns):
        start_ns = time.perf_counter_ns()
        total_ns += time.perf_counter_ns() - start_ns


def local_clock(turns: int) -> None:
    """The yardstick at its cheapest."""
    clock = time.perf_counter_ns
    for _ in repeat(None, turns):
        clock()
        clock()


def do_nothing() -> None:
    """The function that `@timed` is put on."""


def timed_cost(function: Callable[[], object]) -> Cost:
    """What the decorator adds to a call."""
    return Cost(block=calls(timed(function)), bare=calls(function))


def threaded(block: Block) -> Cost:
    return Cost(in_threads(block, THREADS), in_threads(empty_loop, THREADS), block_ns=THREADED_BLOCK_NS)


def enabled_contenders() -> list[Contender]:
    return [
        Contender("section by name", Cost(by_name)),
        Contender("section bound", Cost(bound)),
        Contender("@timed, over the bare call", timed_cost(do_nothing)),
        Contender("stage", Cost(stages, sections=2)),
        Contender("3 deep, per section", Cost(nested, sections=3)),
        Contender("8 threads, per section", threaded(by_name), yardstick=threaded(two_clock_reads)),
        Contender("by hand, subtracted and summed", Cost(summed_by_hand)),
        Contender("by hand, the clock in a local name", Cost(local_clock)),
    ]


def disabled_contenders() -> list[Contender]:
    return [
        Contender("section by name, disabled", Cost(disabled)),
        Contender("@timed, disabled", timed_cost(do_nothing)),
    ]


def figures(results: dict[str, Finish], peers: list[Peer]) -> list[Figure]:
    notes = {peer.name: peer.described for peer in peers}
    targets = TARGETS | dict.fromkeys(NO_DEARER, results["section by name"].ratio.median * TOLERANCE)
    return [
        Figure.of_spread(
            name,
            result.ratio,
            "x",
            target=targets.get(name),
            also={"cost ns": result.cost_ns.median, "by hand ns": result.yardstick_ns.median},
            note="no dearer than by name, within 5%" if name in NO_DEARER else notes.get(name, ""),
        )
        for name, result in results.items()
    ]


def measure(rounds: int, *, with_peers: bool) -> list[Figure | Absent]:
    with ExitStack() as stack:
        peers, absent = load_peers(stack) if with_peers else ([], [])
        with recording():
            progress("ticktree and its peers")
            results = race([*enabled_contenders(), *(peer.contender() for peer in peers)], rounds)
        progress("ticktree disabled")
        results |= race(disabled_contenders(), rounds)
    own_targets = [*TARGETS, *NO_DEARER]
    order = [*own_targets, *(name for name in results if name not in own_targets)]
    return [*figures({name: results[name] for name in order}, peers), *absent]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--no-peers", action="store_true", help="ticktree alone")
    arguments = parser.parse_args()
    lines = measure(9 if arguments.quick else 60, with_peers=not arguments.no_peers)
    title = "An empty section, in units of two hand-written time.perf_counter_ns() calls"
    Report("overhead", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
