"""Runs to watch with invented numbers: played on a virtual clock and read at times in the script."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import ticktree
from support.example_samples import CRUNCH, MAIN, NAP, sampled, stack, unmarked
from ticktree.live.source import LiveReading
from ticktree.profile import Node, Profile, Share, Thread

MS = 1_000_000
US = 1_000
S = 1_000_000_000


class Robot:
    """A control loop of 100 Hz in steps: an arm that looks, plans and moves, and at times waits."""

    def __init__(self) -> None:
        self._recorder = ticktree.Recorder(virtual_clock=True)
        self._random = random.Random(7)
        self._ticks = iter(self._recorder.loop("control", hz=100, warmup=0))
        self._played = 0

    def play(self, ticks: int) -> Profile:
        """Some ticks more, and what there is after them."""
        for _ in range(ticks):
            next(self._ticks)
            self._tick()
        self._played += ticks
        profile = self._recorder.snapshot()
        facts = {"command": frozenset({"robot.py --hz 100"})}
        return replace(profile, metadata={**profile.metadata, **facts})

    def _tick(self) -> None:
        section = self._recorder.section
        with section("observe"):
            self._take(0.6 * MS)
            with section("resize"):
                self._take(2.1 * MS)
            with section("find the ball"):
                self._take(0.3 * MS)
        with section("plan"):
            self._take(0.4 * MS)
            with section("solve"):
                self._take(1.9 * MS, tail=0.5)
        with section("send", wait=True):
            self._take(0.4 * MS if self._random.random() < 0.98 else 40 * MS)
        self._take(3.0 * MS)
        self._recorder.gauge("distance, cm", round(abs(self._random.gauss(0, 2)), 3))
        self._recorder.gauge("queue depth", self._random.randrange(8))

    def _take(self, about_ns: float, tail: float = 0.1) -> None:
        self._recorder.advance(round(about_ns * self._random.lognormvariate(0, tail)))


class Script:
    """A source that gives the readings of a script, the last one over and over."""

    def __init__(self, readings: Sequence[LiveReading]) -> None:
        self._readings = list(readings)

    def read(self) -> LiveReading:
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


def running(profile: Profile | None, at_s: float, **changes) -> LiveReading:
    fields = {
        "name": "20260704-101500-robot",
        "state": "running",
        "at_ns": round(at_s * S),
        "took_ns": 3 * MS,
        "profile": profile,
        "running_ns": round((60 + at_s) * S),
    }
    return LiveReading(**{**fields, **changes})


def robot() -> list[LiveReading]:
    """Two readings, ten seconds apart."""
    arm = Robot()
    return [running(arm.play(3000), 1), running(arm.play(900), 11)]


def unmarked_program() -> list[LiveReading]:
    """A program without sections that is sampled: in the last seconds it slept."""
    earlier = unmarked()
    slept = sampled({stack("", MAIN, NAP, state="sleep"): 300, stack("", MAIN, CRUNCH): 20})
    later = earlier.merge(Profile(root=Node(name="root", self_ns=3_200 * MS), samples=slept))
    return [running(earlier, 1), running(later, 11)]


def ended(status: int | None = 0) -> list[LiveReading]:
    """A run that ends between its third reading and the fourth."""
    arm = Robot()
    scenes = [running(arm.play(3000), 1), running(arm.play(900), 11), running(arm.play(90), 12)]
    last = running(arm.play(30), 13, state="ended", exit_status=status, running_ns=None)
    return [*scenes, last]


def hostile() -> list[LiveReading]:
    """Names that would move a cursor, paint, turn the line round or fill the screen."""
    recorder = ticktree.Recorder(virtual_clock=True)
    names = [
        "\x1b[31mred", "[red]red[/red]", "[/]", "\u202eevil", "a\nb\tc", "", "שלום", "日本語のセクション",
        "x" * 120, "</script>", "a/b", "e\u0301\u200d\ufeff", "100% $PATH `ls`", "👩\u200d🚀 launch",
    ]  # fmt: skip
    readings = []
    for at_s in (1, 11):
        for index, name in enumerate(names):
            with recorder.section(name), recorder.section("[b]inner"):
                recorder.advance((len(names) - index) * MS)
            recorder.gauge(name, index)
        for _ in recorder.loop("\x07bell[blink]", range(3), hz=50, warmup=0):
            recorder.advance(MS // 2)
        readings.append(running(recorder.snapshot(), at_s, name="\x1b]0;title\x07[bold]run"))
    return readings


def many(count: int) -> list[LiveReading]:
    """A tree as large as one may be, in two levels."""
    recorder = ticktree.Recorder(virtual_clock=True)
    readings = []
    for at_s in (1, 11):
        for group in range(count // 64):
            with recorder.section(f"group {group:02}"):
                for index in range(63):
                    with recorder.section(f"section {index:02}"):
                        recorder.advance(10 * US + index + group)
        readings.append(running(recorder.snapshot(), at_s))
    return readings


def attributed(profile: Profile, thread: Thread, concurrent: bool) -> Profile:
    """All of a profile as one thread's."""
    nodes: dict[str, Node] = {}
    for path, depth, node in reversed(list(profile.root.walk())):
        below = {name: nodes.pop(f"{path}/{name}" if path else name) for name in node.children}
        nodes[path] = replace(
            node,
            children=below,
            by_thread={thread.id: Share(node.count, node.total_ns, node.self_ns)},
            concurrent_ns=node.total_ns if concurrent and depth == 1 else node.concurrent_ns,
        )
    return replace(profile, root=nodes[""], threads={thread.id: thread})


def trainer(actors: int = 3) -> list[LiveReading]:
    """A learner and some actors, each a process, the last actor twice as slow as the first."""
    recorders = [ticktree.Recorder(virtual_clock=True) for _ in range(actors + 1)]
    readings = []
    for at_s, rounds in ((1, 40), (11, 9)):
        parts = [_learn(recorders[0], rounds)]
        parts += [_act(recorders[1 + index], rounds, index, actors) for index in range(actors)]
        facts = {"command": frozenset({"train.py --actors 3"})}
        profile = Profile(metadata=facts).merge(*parts)
        readings.append(running(profile, at_s, name="20260704-101500-train"))
    return readings


def _learn(recorder: ticktree.Recorder, rounds: int) -> Profile:
    for _ in range(rounds):
        with recorder.section("train"):
            with recorder.section("wait for batch", wait=True):
                recorder.advance(700 * MS)
            with recorder.section("update"):
                recorder.advance(380 * MS)
    learner = Thread(
        id="10-1/0", process_name="train.py", role="learner", is_main=True, started_ns=0, last_ns=1
    )
    return attributed(recorder.snapshot(), learner, concurrent=False)


def _act(recorder: ticktree.Recorder, rounds: int, index: int, actors: int) -> Profile:
    for _ in range(rounds):
        with recorder.section("act"):
            for _ in range(20):
                with recorder.section("env step"):
                    recorder.advance(round((20 + 20 * index / actors) * MS))
                with recorder.section("policy"):
                    recorder.advance(9 * MS)
    name = f"Process-{index + 1}"
    actor = Thread(
        id=f"{20 + index}-1/0", process_name=name, role="actor", is_main=True, started_ns=5, last_ns=6
    )
    return attributed(recorder.snapshot(), actor, concurrent=True)


def focused() -> list[LiveReading]:
    """A run whose calls are in focus: long names, two calls of one function among them."""
    recorder = ticktree.Recorder(virtual_clock=True)
    act = ("self._act(action)", "self._act(action / 2)")

    def play(ticks: int) -> Profile:
        for _ in recorder.loop("Driver.step : drive.py @ L50", range(ticks), warmup=0):
            with recorder.section("self._env.step(action) | Environment.step : drive.py @ L31"):
                for calls, expression in enumerate(act, 2):
                    with recorder.section(f"{expression} | Environment._act : drive.py @ L35"):
                        recorder.advance(calls * MS)
                recorder.advance(MS)
        return recorder.snapshot()

    return [running(play(100), 0), running(play(200), 1)]
