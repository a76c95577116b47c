"""Programs with one known problem each, and healthy ones, judged by all rules: the cause is the first recommendation.

On a virtual clock, so that what they take is what they say; what only a system can tell (page faults, collections, who
used the cores) is put into the profile.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from support.example_trainers import Trainer
from support.findings import findings
from support.rule_programs import Program
from support.steady_loops import watched
from ticktree.analysis.rules.torch import UNUSED_GAUGE, UNUSED_SECTION
from ticktree.profile import Profile
from ticktree.profile.loop import Causes

TICKS = 400
QUIET = {"used": [0.9] * 9, "others": [0.0] * 9, "waiting": [0.01] * 9}
STATES = 256 * 4 * 96 * 96 * 4


def looped(
    tick: Callable[[Program, int], None], name: str = "train", ticks: int = TICKS, machine=QUIET, **options
) -> Profile:
    """A loop on a machine of which so much was read."""
    with Program() as program:
        for number in program.ticks(ticks, name, **options):
            tick(program, number)
        return watched(program.profile(), **machine)


def scattered(seed: int) -> Callable[[Program, str, float], None]:
    dice = random.Random(seed)

    def spend(program: Program, name: str, ms: float, **options) -> None:
        program.spend(name, ms * dice.lognormvariate(0, 0.03), **options)

    return spend


def with_causes(profile: Profile, **amounts: int) -> Profile:
    """The profile, with so much per tick of what its loop's thread had to do with the system."""
    loops = {
        path: replace(
            loop,
            causes=Causes(
                loop.stats.count, **{key: each * loop.stats.count for key, each in amounts.items()}
            ),
            worst=tuple(replace(tick, causes=dict(amounts)) for tick in loop.worst),
        )
        for path, loop in profile.loops.items()
    }
    return replace(profile, loops=loops)


def with_missed_causes(profile: Profile, **amounts: int) -> Profile:
    """The profile, with so much per missed tick of what its loop's thread had to do with the system."""
    loops = {
        path: replace(
            loop,
            missed_causes=Causes(loop.missed, **{key: each * loop.missed for key, each in amounts.items()}),
        )
        for path, loop in profile.loops.items()
    }
    return replace(profile, loops=loops)


def training() -> Profile:
    spend = scattered(1)

    def tick(program: Program, number: int) -> None:
        spend(program, "env step", 2)
        spend(program, "sample batch", 0.5)
        with program.inside("update"):
            spend(program, "forward", 3)
            spend(program, "backward", 5)

    return looped(tick)


def paced(sleep: str = "sleep", **options) -> Profile:
    """A control loop of 4 of 10 ms, which sleeps for the rest by whatever it calls its sleep."""
    dice = random.Random(2)

    def tick(program: Program, number: int) -> None:
        observe, act = (ms * dice.lognormvariate(0, 0.03) for ms in (1.0, 3.0))
        program.spend("observe", observe)
        program.spend("act", act)
        if not options.get("pace"):
            program.spend(sleep, 10 - observe - act, wait=True)

    return looped(tick, "control", **options)


def robot() -> Profile:
    """A control loop and three cameras, all of which hold their rates."""
    spend = scattered(3)
    with Program() as program:
        for name, ms in (("control", 4.0), ("front", 6.0), ("wrist", 6.1), ("side", 5.9)):
            for _ in program.ticks(TICKS, name, hz=100, pace=True):
                spend(program, "work", ms)
        return watched(program.profile(), **QUIET)


def spinning() -> Profile:
    """A loop that spins until a tick is due: how long, nothing tells."""
    dice = random.Random(10)

    def tick(program: Program, number: int) -> None:
        program.spend("observe", 1)
        program.spend("act", 3)
        program.recorder.advance(round((6 + dice.uniform(-0.05, 0.05)) * 1e6))

    return looped(tick, "control", hz=100)


def crowded_out() -> Profile:
    """A paced loop that other processes preempt in the ticks that it misses."""
    busy = {"used": [0.5] * 9, "others": [1.8] * 9, "waiting": [0.6] * 9}

    def tick(program: Program, number: int) -> None:
        slow = 5 if number % 20 == 19 else 1
        program.spend("observe", 1.0 * slow)
        program.spend("act", 3.0 * slow)

    return with_missed_causes(
        looped(tick, "control", hz=100, pace=True, machine=busy), involuntary_switches=2
    )


def planned_updates() -> Profile:
    """Steps of an env, and a long update after every 128th."""
    spend = scattered(4)

    def tick(program: Program, number: int) -> None:
        spend(program, "env.step", 0.5)
        spend(program, "policy", 0.3)
        if number % 128 == 127:
            spend(program, "update", 40)

    return looped(tick, "env", ticks=1024)


def sleeping(*, bare: bool) -> Profile:
    """No loop: work, and a sleep after it, in a section of its own or as `--instrument sleep` records it."""
    spend = scattered(9)
    with Program() as program:
        for _ in range(200):
            spend(program, "poll", 1)
            if bare:
                spend(program, "time.sleep", 4, wait=True)
            else:
                with program.inside("pause"):
                    spend(program, "time.sleep", 4, wait=True)
        return watched(program.profile(), **QUIET)


HEALTHY = {
    "a bare time.sleep outside all loops": lambda: sleeping(bare=True),
    "one in a section": lambda: sleeping(bare=False),
    "training": training,
    "paced by the loop": lambda: paced(hz=100, pace=True),
    "paced by time.sleep, with a rate": lambda: paced(hz=100),
    "paced by time.sleep, without a rate": paced,
    "paced by asyncio.sleep": lambda: paced("asyncio.sleep"),
    "paced by precise_sleep": lambda: paced("precise_sleep", hz=100),
    "paced by the timeout of an event": lambda: paced("Event.wait"),
    "paced by select": lambda: paced("select.select", hz=100),
    "paced by spinning": spinning,
    "a loop whose core others take": crowded_out,
    "a robot with three cameras": robot,
    "an update every 128 steps": planned_updates,
    "equal workers": lambda: watched(Trainer().profile(), **QUIET),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_program_gets_no_recommendation(name):
    all_findings = [finding for finding in findings(HEALTHY[name]()) if finding.kind == "recommendation"]
    assert [(finding.rule, finding.message) for finding in all_findings] == []


def storm() -> Profile:
    return with_causes(looped(lambda program, n: program.spend("update", 5)), gc_ns=1_500_000)


def hiccup(hz: float | None) -> Profile:
    spend = scattered(5)

    def tick(program: Program, number: int) -> None:
        spend(program, "decide", 50 if number % 100 == 99 else 1)
        spend(program, "act", 1)

    return looped(tick, "control", hz=hz, **({"pace": True} if hz else {}))


def drifting() -> Profile:
    spend = scattered(6)

    def tick(program: Program, number: int) -> None:
        spend(program, "sample", 1)
        spend(program, "update", 3 * (1 + 0.4 * number / TICKS))

    return looped(tick)


def stepping() -> Profile:
    spend = scattered(7)

    def tick(program: Program, number: int) -> None:
        spend(program, "sample", 1)
        spend(program, "update", 3 if number < 250 else 4.5)

    return looped(tick)


def crowded() -> Profile:
    busy = {"used": [2.0] * 9, "others": [0.0] * 9, "waiting": [0.6] * 9}
    return looped(lambda program, n: program.spend("update", 5), machine=busy)


def starved() -> Profile:
    def tick(program: Program, number: int) -> None:
        program.gauge("action_queue", 0 if number % 3 else 4)
        program.spend("act", 5)

    return looped(tick)


def faulting() -> Profile:
    def tick(program: Program, number: int) -> None:
        program.spend("sample", 2, bytes=8_000_000)
        program.spend("update", 3)

    return with_causes(looped(tick), minor_faults=1000)


def unused() -> Profile:
    spend = scattered(8)

    def tick(program: Program, number: int) -> None:
        spend(program, "critics", 7)
        with program.inside("actor"):
            spend(program, "forward", 3)
            spend(program, UNUSED_SECTION, 8)
        program.gauge(UNUSED_GAUGE, 0.67)

    return looped(tick)


def copying() -> Profile:
    def tick(program: Program, number: int) -> None:
        with program.inside("states"):
            for name, ms in (("np.array", 8), ("FloatTensor", 4), ("to device", 2)):
                program.spend(name, ms, bytes=STATES)
        program.spend("update", 20)

    return looped(tick)


def oversleeping() -> Profile:
    def tick(program: Program, number: int) -> None:
        program.spend("decide", 3)
        program.spend("sleep", 10, wait=True)

    return looped(tick, "control", hz=100)


def hiccup_of_own_pace() -> Profile:
    """A loop that starts anew after each late tick: its mean tick is too long, its sleep is not to blame."""

    def tick(program: Program, number: int) -> None:
        decide = 30 if number % 25 == 24 else 3
        program.spend("decide", decide)
        program.spend("time.sleep", max(0, 10 - decide), wait=True)

    return looped(tick, "control", hz=100)


INJECTED = {
    "a storm of collections": (storm, "garbage-collection"),
    "a hiccup in a loop with a rate": (lambda: hiccup(200.0), "missed-deadline"),
    "a hiccup in a loop without a rate": (lambda: hiccup(None), "spikes"),
    "a drift": (drifting, "drift"),
    "a phase": (stepping, "phase-change"),
    "more threads than cores": (crowded, "oversubscribed"),
    "a queue that runs dry": (starved, "starved"),
    "page faults": (faulting, "allocation"),
    "unused gradients": (unused, "unused-gradients"),
    "copies of copies": (copying, "copied-twice"),
    "a fixed sleep": (oversleeping, "fixed-sleep"),
    "a hiccup in a loop that sleeps what is left": (hiccup_of_own_pace, "missed-deadline"),
    "one slow worker": (lambda: watched(Trainer(slow={2: 9.0}).profile(), **QUIET), "straggler"),
}


@pytest.mark.parametrize("name", INJECTED)
def test_the_injected_cause_is_the_first_recommendation(name):
    make, expected = INJECTED[name]
    all_findings = [finding for finding in findings(make()) if finding.kind == "recommendation"]
    assert [finding.rule for finding in all_findings][:1] == [expected], [
        finding.message for finding in all_findings
    ]
