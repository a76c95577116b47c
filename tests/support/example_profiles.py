"""Realistic profiles with invented numbers: a training loop and control loops."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from ticktree.profile import (
    CallSite,
    Cpu,
    FirstTicks,
    Gauge,
    Histogram,
    Jitter,
    Lateness,
    Loop,
    Memory,
    Node,
    OpenCalls,
    Profile,
    Stats,
    Windows,
    Work,
    WorstTick,
)

MS = 1_000_000
US = 1_000


def spread(middle_ns: float, count: int, seed: int, tail: float = 0.1) -> list[int]:
    """Durations around `middle_ns`, some of them longer, the same for the same seed."""
    random_numbers = random.Random(seed)
    return [round(middle_ns * random_numbers.lognormvariate(0, tail)) for _ in range(count)]


def node(
    name: str, durations: list[int], *children: Node, warmup: int = 0, self_ns: int | None = None, **fields
) -> Node:
    """A node whose calls took `durations`, the first `warmup` of them before the steady phase."""
    covered_ns = sum(child.total_ns - child.concurrent_ns for child in children)
    width_ns, start_ns = 10 * MS << 6, 0
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for duration_ns in durations:
        start_ns += duration_ns
        index = start_ns // width_ns
        counts[index] = counts.get(index, 0) + 1
        totals[index] = totals.get(index, 0) + duration_ns
    return Node(
        name=name,
        self_ns=max(sum(durations) - covered_ns, 0) if self_ns is None else self_ns,
        steady=Stats.of(durations[warmup:]),
        warmup=Stats.of(durations[:warmup]) if warmup else None,
        windows=Windows(width_ns, counts, totals),
        per_run={"20260704-101500-train": (len(durations), sum(durations))},
        children={child.key: child for child in children},
        **fields,
    )


def site(line: int, function: str, file: str = "train.py") -> dict[CallSite, int]:
    return {CallSite(file, line, function): 1}


class Phase:
    """A section of the training run: its self time is invented, all else follows from its children's."""

    def __init__(
        self, name: str, self_ms: float, *children: Phase, calls_per_tick: int = 1, **fields
    ) -> None:
        self.calls = (TICKS + WARMUP) * calls_per_tick
        self_ns = spread(self_ms * MS, self.calls, sum(map(ord, name)))
        slow = WARMUP * calls_per_tick
        self_ns[:slow] = [3 * duration for duration in self_ns[:slow]]
        self.durations = [
            duration + sum(sum(child.of_call(call, self.calls)) for child in children)
            for call, duration in enumerate(self_ns)
        ]
        below = [child.node for child in children]
        self.node = node(name, self.durations, *below, warmup=slow, recorder_ns=130 * self.calls, **fields)

    def of_call(self, call: int, calls: int) -> list[int]:
        """The durations of those calls that are in one of their parent's `calls`."""
        count = self.calls // calls
        return self.durations[call * count : (call + 1) * count]


TICKS, WARMUP = 38, 3


def training() -> Profile:
    """A SAC training run on images: one thread, a warm-up of three ticks, a data-loading thread beside it."""
    total = TICKS + WARMUP
    convolutions = [Phase(f"conv {n}", ms, calls_per_tick=6) for n, ms in ((1, 44), (2, 17), (3, 9))]
    actor = Phase(
        "actor",
        700,
        Phase("forward", 2.1, *convolutions, calls_per_tick=6),
        call_sites=site(212, "SAC.update"),
    )
    sample = Phase(
        "sample",
        0.03,
        Phase("select", 0.35),
        Phase("unzip", 0.24),
        Phase("np.array", 14.1, work=Work(bytes=75_500_000 * total)),
        Phase("FloatTensor", 0.021, calls_per_tick=5),
        Phase("to device", 0.0009, calls_per_tick=5, device="no GPU here"),
        work=Work(bytes=75_500_000 * total, items=256 * total),
        memory=Memory(total, 3_000_000, 1_240_000_000, 96_000_000, is_exact=True),
        call_sites=site(188, "ReplayBuffer.sample", "buffer.py"),
    )
    update = Phase(
        "update",
        18,
        actor,
        Phase("critic 1", 431, call_sites=site(231, "SAC.update")),
        Phase("critic 2", 428, call_sites=site(239, "SAC.update")),
        sample,
        Phase("entropy", 1.2),
        Phase("soft update", 1.1, work=Work(flops=6_200_000 * total)),
        cpu=Cpu(5, 8_210 * MS, 8_520 * MS),
    )
    environment = Phase(
        "env step",
        0.9,
        Phase("physics", 3.1),
        Phase("render", 14),
        Phase("read pixels", 6),
        Phase("wait for frame", 2, wait=True),
        call_sites=site(97, "main"),
    )
    train = Phase("train", 0.8, update, environment, call_sites=site(90, "main")).node
    prefetch = node("prefetch", spread(9 * MS, 900, 23))
    prefetch = replace(prefetch, concurrent_ns=prefetch.total_ns)
    save = node("save", spread(310 * MS, 1, 24), self_ns=910 * MS, open=OpenCalls(1, 600 * MS))
    worst = WorstTick(
        train.steady.max_ns or 0,
        "4211/4211",
        17,
        41_000 * MS,
        {"train/update": 2_220 * MS, "train/update/actor": 1_370 * MS, "train/env step": 29 * MS},
        {"gc_ns": 0, "involuntary_switches": 214, "minor_faults": 70_211},
    )
    loop = Loop(
        path="train",
        ticks=total,
        warmup_ticks=WARMUP,
        stats=train.steady,
        jitter=Jitter(total - 1, 95 * MS * (total - 1)),
        busy_ns=train.stats.sum_ns,
        first_ticks=FirstTicks(1_783_160_100_000_000_000, "4211/4211", (6_300 * MS, 6_100 * MS, 6_080 * MS)),
        worst=(worst,),
    )
    return Profile(
        root=Node(
            name="root",
            self_ns=1_200 * MS,
            recorder_ns=15_000,
            children={child.name: child for child in (train, prefetch, save)},
        ),
        loops={"train": loop},
        gauges={"replay size": gauge_of("replay size", [float(n) for n in range(1, 400)])},
        metadata={
            "name": frozenset({"visual_sac"}),
            "command": frozenset({"train.py --buffer list"}),
            "clock": frozenset({"TSC"}),
            "host": frozenset({"bench-3"}),
            "python": frozenset({"3.11.9"}),
            "threads": frozenset({1}),
            "ceiling.source": frozenset({"measured"}),
            "ceiling.memcpy_bytes_per_s": frozenset({10_200_000_000}),
            "ceiling.flops_per_s_thread": frozenset({98_000_000_000}),
            "ceiling.flops_per_s": frozenset({187_000_000_000}),
        },
    )


def control() -> Profile:
    """A 100 Hz control loop with a slow plan, a stall, a helper thread beside it and losses."""
    count = 1200
    plan = spread(2.1 * MS, count, 1, 0.3)
    plan[412], plan[777] = 45 * MS, 14 * MS
    wobble = spread(60 * US, count, 2)
    durations = [
        9_940 * US + max(0, duration - 6 * MS) + delay for duration, delay in zip(plan, wobble, strict=True)
    ]
    sleep = [max(duration - plan_ns - 2 * MS, 0) for duration, plan_ns in zip(durations, plan, strict=True)]
    solve = [round(duration * 0.97) for duration in plan]
    control = node(
        "control",
        durations,
        node("observe", spread(1.2 * MS, count, 3), recorder_ns=200_000),
        node(
            "plan", plan, node("solve", solve), call_sites=site(40, "step", "robot.py"), recorder_ns=200_000
        ),
        node("act", spread(0.6 * MS, count, 4)),
        node("sleep", sleep, wait=True),
        warmup=10,
        recorder_ns=900_000,
        call_sites=site(31, "main", "robot.py"),
    )
    helper = node(
        "helper",
        spread(30 * MS, 300, 5),
        node("decode", spread(21 * MS, 300, 6)),
    )
    helper = replace(helper, concurrent_ns=helper.total_ns)
    worst = [(412, 45), (777, 14), (3, 5)]
    loop = Loop(
        path="control",
        ticks=count,
        incomplete=1,
        hz=frozenset({100.0}),
        missed=9,
        longest_miss_run=3,
        warmup_ticks=10,
        stats=control.steady,
        lateness=Lateness(count, 120 * US * count, 35 * MS),
        jitter=Jitter(count - 1, 42 * US * (count - 1)),
        busy_ns=control.stats.sum_ns,
        first_ticks=FirstTicks(1_783_160_000_000_000_000, "77/77", tuple(durations[:8])),
        worst=tuple(
            WorstTick(
                durations[tick],
                "77/77",
                tick,
                tick * 10 * MS,
                {
                    "control/observe": 1_210 * US,
                    "control/plan": ms * MS,
                    "control/plan/solve": round(ms * 0.97 * MS),
                    "control/act": 590 * US,
                },
                {"gc_ns": 12 * MS, "involuntary_switches": 3} if tick == 412 else {"major_faults": 0},
            )
            for tick, ms in worst
        ),
    )
    return Profile(
        root=Node(name="root", self_ns=40 * MS, children={"control": control, "helper": helper}),
        loops={"control": loop},
        gauges={"queue depth": gauge_of("queue depth", [0.0, 1.0, 2.0, 7.0, 4.0])},
        metadata={
            "name": frozenset({"robot"}),
            "command": frozenset({"robot.py"}),
            "threads": frozenset({1}),
        },
        losses={"unwound": 2},
    )


def robot() -> Profile:
    """A 30 Hz robot on a bad day: every chunk of actions comes late, and once the bus to the motors was slow."""
    count, budget = 900, 33_333_333
    camera = spread(4 * MS, count, 1, 0.4)
    observe = spread(7 * MS, count, 2, 0.15)
    predict = [value if tick % 20 == 19 else 0 for tick, value in enumerate(spread(31 * MS, count, 3, 0.25))]
    send = [
        value * (14 if 412 <= tick < 421 else 1) for tick, value in enumerate(spread(2 * MS, count, 4, 0.2))
    ]
    work = [sum(parts) + 400 * US for parts in zip(observe, predict, send, strict=True)]
    awake = [work_ns + wait_ns for work_ns, wait_ns in zip(work, camera, strict=True)]
    durations = [max(budget, value) for value in awake]
    sleep = [took - value for took, value in zip(durations, awake, strict=True)]
    overruns = [max(0, value - budget) for value in work]
    positive = [value for value in overruns if value]
    steps = [abs(after - before) for before, after in pairwise(durations)]
    ages = [spread(value + 18 * MS, 1, tick, 0.2)[0] for tick, value in enumerate(awake)]
    age = node("sensor to action: wrist camera", ages)
    control = node(
        "control",
        durations,
        node("camera", camera, wait=True),
        node("observe", observe),
        node("predict", [value for value in predict if value]),
        node("send", send),
        node("sleep", [value for value in sleep if value], wait=True),
        replace(age, concurrent_ns=age.total_ns),
    )
    worst = max(range(count), key=durations.__getitem__)
    breakdown = {"camera": camera, "observe": observe, "predict": predict, "send": send}
    loop = Loop(
        path="control",
        ticks=count,
        incomplete=1,
        hz=frozenset({30.0}),
        missed=len(positive),
        longest_miss_run=9,
        stats=control.steady,
        lateness=Lateness(len(positive), sum(positive), max(positive), Histogram.of(positive)),
        jitter=Jitter(len(steps), sum(steps), Histogram.of(steps)),
        busy_ns=sum(durations),
        waited_ns=sum(camera) + sum(sleep),
        missed_ns=sum(took for took, over in zip(durations, overruns, strict=True) if over),
        missed_breakdown={
            f"control/{name}": sum(ns for ns, over in zip(took, overruns, strict=True) if over)
            for name, took in breakdown.items()
        },
        worst=(
            WorstTick(
                durations[worst],
                "77/77",
                worst,
                sum(durations[:worst]),
                {f"control/{name}": took[worst] for name, took in breakdown.items()},
                {"involuntary_switches": 2},
            ),
        ),
    )
    depth = [float(max(0, 17 - tick % 20)) for tick in range(count)]
    return Profile(
        root=Node(name="root", self_ns=120 * MS, children={"control": control}),
        loops={"control": loop},
        gauges={"action queue depth": gauge_of("action queue depth", depth)},
        metadata={"name": frozenset({"robot"}), "command": frozenset({"robot.py"})},
    )


def gauge_of(name: str, readings: list[float]) -> Gauge:
    return Gauge(
        name=name,
        last=readings[-1],
        last_wall_ns=1_783_160_500_000_000_000,
        process="77",
        count=len(readings),
        min=min(readings),
        max=max(readings),
        positive=Histogram.of(reading for reading in readings if reading > 0),
        zeros=sum(reading == 0 for reading in readings),
    )
