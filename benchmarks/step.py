"""Cost of five sections in a real control step of about forty microseconds, compared with the same step without.

An empty loop shows what a section costs; this shows what that means. The peers take the same step.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import repeat
from types import FrameType

import ticktree
from arm import Arm
from harness.race import Block, Contender, Cost, nothing, race
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.sections import Section, own_code
from peers import Peer, load_peers

TICKTREE_SECTION = "ticktree section"
TARGET = 1.02
BLOCK_NS = 2_500_000  # short, since the closer two blocks follow each other the better they compare


def bare_steps(arm: Arm) -> Block:
    """The loop as it is before anybody profiles it."""

    def block(turns: int) -> None:
        arm.reset()
        for _ in repeat(None, turns):
            observation = arm.observe()
            action = arm.decide(observation)
            torques = arm.limit(action)
            arm.simulate(torques)
            arm.judge()

    return own_code(block)


def profiled_steps(arm: Arm, section: Section) -> Block:
    """The same loop with a section round each of its five parts."""

    def block(turns: int) -> None:
        arm.reset()
        for _ in repeat(None, turns):
            with section("observe"):
                observation = arm.observe()
            with section("decide"):
                action = arm.decide(observation)
            with section("limit"):
                torques = arm.limit(action)
            with section("simulate"):
                arm.simulate(torques)
            with section("judge"):
                arm.judge()

    return own_code(block)


def contenders(arm: Arm, peers: list[Peer]) -> list[Contender]:
    """All that can be entered by `with`."""
    bare = whole(bare_steps(arm))
    return [
        Contender(TICKTREE_SECTION, whole(profiled_steps(arm, ticktree.section)), bare),
        *(
            Contender(peer.name, whole(profiled_steps(arm, peer.section)), bare, peer.session)
            for peer in peers
            if peer.section is not None
        ),
    ]


def whole(block: Block) -> Cost:
    """A block of steps of which nothing is taken away: what is compared is one loop with another."""
    return Cost(block, bare=nothing, block_ns=BLOCK_NS)


def calls_a_step(arm: Arm) -> int:
    """How many functions, Python's and C's, one bare step calls."""
    count = 0

    def tally(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    steps = bare_steps(arm)
    sys.setprofile(tally)
    steps(1)
    sys.setprofile(None)
    return count


def measure(rounds: int, *, with_peers: bool) -> Report:
    arm = Arm()
    with ExitStack() as stack:
        peers, absent = load_peers(stack) if with_peers else ([], [])
        stack.enter_context(recording())
        progress("stepping")
        results = race(contenders(arm, peers), rounds)
    notes = {peer.name: peer.described for peer in peers}
    lines: list[Figure | Absent] = [
        Figure.of_spread(
            name,
            result.ratio,
            "x",
            target=TARGET if name == TICKTREE_SECTION else None,
            also={
                "step us": result.cost_ns.median / 1e3,
                "bare us": result.yardstick_ns.median / 1e3,
                "95% from": result.ratio.sure_low,
                "to": result.ratio.sure_high,
            },
            note=notes.get(name, ""),
        )
        for name, result in results.items()
    ]
    title = f"A control step of {calls_a_step(arm)} calls with five sections in it, in units of the bare step"
    return Report("step", title, [*lines, *absent])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--no-peers", action="store_true", help="ticktree alone")
    arguments = parser.parse_args()
    measure(40 if arguments.quick else 800, with_peers=not arguments.no_peers).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
