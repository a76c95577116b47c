"""Realistic runs of many processes with invented numbers: a learner and its workers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ticktree.profile import CriticalNode, Loop, Node, Profile, Share, Stats, Thread, Waker, Wakes, Windows

US, MS, S = 10**3, 10**6, 10**9

LEARNER = "4200-77/4200"


def worker(number: int) -> str:
    """The id of the thread that is the worker of this number."""
    return f"{4300 + number}-{900 + number}/{4300 + number}"


def thread(
    name: str, role: str = "env worker", started_ns: int = 0, last_ns: int = 40 * S, **fields
) -> Thread:
    """A process's main thread."""
    fields = {"run": "run-1", "process_name": role, "is_main": True, **fields}
    return Thread(id=name, role=role, started_ns=started_ns, last_ns=last_ns, **fields)


def node(
    name: str, took: Mapping[str, Sequence[int]], *children: Node, concurrent: bool = False, **fields
) -> Node:
    """A node whose calls took so long, by thread; `concurrent` if its threads are others than its parent's."""
    shares = {}
    for thread_id, durations in took.items():
        below = [
            child.by_thread[thread_id]
            for child in children
            if thread_id in child.by_thread and not child.concurrent_ns
        ]
        self_ns = sum(durations) - sum(share.total_ns for share in below)
        shares[thread_id] = Share(len(durations), sum(durations), self_ns)
    everything = [duration for durations in took.values() for duration in durations]
    return Node(
        name=name,
        self_ns=sum(share.self_ns for share in shares.values()),
        concurrent_ns=sum(everything) if concurrent else 0,
        steady=Stats.of(everything),
        windows=Windows(),
        by_thread=shares,
        children={child.name: child for child in children},
        **fields,
    )


def spread(middle_ns: float, count: int, seed: int, tail: float = 0.05) -> list[int]:
    """Durations around `middle_ns`, the same for the same seed."""
    random_numbers = random.Random(seed)
    return [round(middle_ns * random_numbers.lognormvariate(0, tail)) for _ in range(count)]


class Trainer:
    """A learner that steps all its workers at once, waits for the slowest, and learns meanwhile they wait for it.

    Args:
        workers: how many.
        slow: what one step of a worker takes of its physics, in milliseconds, by number; 3 ms for all others.
        steps: how many.
        signals: whether it was recorded who let whom go on.
    """

    def __init__(
        self,
        workers: int = 4,
        slow: Mapping[int, float] | None = None,
        steps: int = 1000,
        signals: bool = True,
    ) -> None:
        self.steps, self.signals = steps, signals
        self.ids = [worker(number) for number in range(workers)]
        middle = {number: (slow or {}).get(number, 3.0) * MS for number in range(workers)}
        self.physics = {self.ids[n]: spread(ms, steps, n) for n, ms in middle.items()}
        self.render = {worker_id: spread(1.1 * MS, steps, 50 + n) for n, worker_id in enumerate(self.ids)}
        self.step = {
            worker_id: [
                a + b + 40 * US for a, b in zip(self.physics[worker_id], self.render[worker_id], strict=True)
            ]
            for worker_id in self.ids
        }
        self.slowest = [
            max(self.ids, key=lambda worker_id: self.step[worker_id][step]) for step in range(steps)
        ]
        self.waits = [self.step[worker_id][step] + 90 * US for step, worker_id in enumerate(self.slowest)]
        self.update = spread(4.5 * MS, steps, 99)

    def profile(self) -> Profile:
        """The run."""
        train = self._train()
        make = node("make envs", {LEARNER: [800 * MS]}, *self._workers())
        root = node("root", {LEARNER: []}, train, make)
        self_ns = 1_300 * MS
        root = replace(root, self_ns=self_ns, by_thread=self._whole(root, self_ns))
        loop = Loop(path="train", ticks=train.count, stats=train.steady, busy_ns=train.stats.sum_ns)
        last_ns = root.by_thread[LEARNER].total_ns
        threads = [thread(LEARNER, "learner", 0, last_ns)]
        for number, worker in enumerate(self.ids):
            started_ns = (1300 + number) * MS
            threads.append(thread(worker, started_ns=started_ns, last_ns=last_ns, parent="make envs"))
        metadata = {"name": "ppo-walker", "command": "train.py --workers 4", "clock": "TSC"}
        return Profile(
            root=root,
            loops={"train": loop},
            threads={worker.id: worker for worker in threads},
            critical=self._critical() if self.signals else {},
            metadata={key: frozenset({value}) for key, value in metadata.items()},
        )

    def _whole(self, root: Node, self_ns: int) -> dict[str, Share]:
        covered_ns = sum(child.total_ns - child.concurrent_ns for child in root.children.values())
        return {LEARNER: Share(0, self_ns + covered_ns, self_ns)}

    def _train(self) -> Node:
        forward = spread(1.6 * MS, self.steps, 98)
        collect = [60 * US + wait for wait in self.waits]
        ticks = [a + b + 30 * US for a, b in zip(collect, self.update, strict=True)]
        return node(
            "train",
            {LEARNER: ticks},
            node(
                "collect",
                {LEARNER: collect},
                node("step_async", {LEARNER: [50 * US] * self.steps}),
                node("step_wait", {LEARNER: self.waits}, wait=True, wakers=self._wakers_of_learner()),
            ),
            node("update", {LEARNER: self.update}, node("forward", {LEARNER: forward})),
        )

    def _workers(self) -> list[Node]:
        waits = {}
        for worker in self.ids:
            rounds = zip(self.step[worker], self.waits, self.update, strict=True)
            waits[worker] = [max(wait - step, 0) + update + 60 * US for step, wait, update in rounds]
        parts = (node("physics", self.physics), node("render", self.render))
        step = node("env step", self.step, *parts, concurrent=True)
        command = node(
            "next command", waits, concurrent=True, wait=True, wakers=self._wakers_of_workers(waits)
        )
        return [step, command]

    def _wakers_of_learner(self) -> dict[Waker, Wakes]:
        edges: dict[Waker, Wakes] = {}
        for step, worker in enumerate(self.slowest) if self.signals else ():
            waker = Waker("results", LEARNER, worker, "make envs/env step")
            wakes = Wakes(1, self.waits[step], 30 * US)
            edges[waker] = edges[waker] + wakes if waker in edges else wakes
        return edges

    def _wakers_of_workers(self, waits: Mapping[str, Sequence[int]]) -> dict[Waker, Wakes]:
        if not self.signals:
            return {}
        return {
            Waker("commands", worker, LEARNER, "train/collect/step_async"): Wakes(
                self.steps, sum(durations), 40 * US * self.steps
            )
            for worker, durations in waits.items()
        }

    def _critical(self) -> dict[CriticalNode, int]:
        places = {
            CriticalNode(LEARNER, "train/update/forward"): sum(self.update) * 4 // 10,
            CriticalNode(LEARNER, "train/update"): sum(self.update) * 6 // 10,
            CriticalNode(LEARNER, "train/collect/step_async"): 50 * US * self.steps,
            CriticalNode(LEARNER, ""): 1300 * MS,
            CriticalNode(LEARNER, "make envs"): 800 * MS,
        }
        for step, worker in enumerate(self.slowest):
            for name, part in (("physics", self.physics), ("render", self.render)):
                key = CriticalNode(worker, f"make envs/env step/{name}")
                places[key] = places.get(key, 0) + part[worker][step]
        return places


def straggling_trainer(**options) -> Profile:
    """Four workers of whom the last takes 2.3 times as long a step as the others."""
    return Trainer(slow={3: 8.5}, **options).profile()


def crowded_trainer() -> Profile:
    """A thousand workers, one of which is slow."""
    return Trainer(workers=1000, slow={144: 8.5}, steps=20).profile()
