"""Realistic timelines with invented numbers: a learner and workers, one bar per call."""

from __future__ import annotations

import numpy as np

from ticktree.profile import Node, Profile, Stats
from ticktree.profile.timeline import CalledNode, Lane, Timeline, call_order

MS = 1_000_000
# What a tick consists of, in the order it is done: path below the tick, and milliseconds.
LEARNER = (("update", 9.0), ("update/forward", 3.2), ("update/backward", 4.9), ("collect", 2.6), ("log", 0.1))
WORKER = (("physics", 3.0), ("render", 1.1), ("policy", 0.4))


def lane(number: int, name: str, thread: str = "") -> Lane:
    return Lane(f"{4200 + number}-7", 4200 + number, name, "", 4200 + number, thread, 0)


def crowd(calls: int, workers: int = 4, seed: int = 3) -> tuple[Profile, Timeline]:
    """About so many calls of a learner and its workers, and a profile that has their nodes."""
    dice = np.random.default_rng(seed)
    count = max(1, calls // (6 + workers * 4))
    nodes = [CalledNode("train", tick=True), *(CalledNode(f"train/{path}") for path, _ in LEARNER)]
    learner_lane = len(nodes)
    nodes += [CalledNode("env step"), *(CalledNode(f"env step/{path}") for path, _ in WORKER)]
    parts = [_ticks(dice, count, 0, 0, LEARNER)]
    parts += [_ticks(dice, count, learner_lane, 1 + number, WORKER) for number in range(workers)]
    start, duration, node_index, lane_index = (np.concatenate(column) for column in zip(*parts))
    order = call_order(start, node_index, nodes)
    lanes = (lane(0, "learner"), *(lane(1 + number, f"env worker {number}") for number in range(workers)))
    timeline = Timeline(
        tuple(lanes), tuple(nodes), start[order], duration[order], node_index[order], lane_index[order]
    )
    assert not list(timeline.problems())
    return _profile(timeline), timeline


def _ticks(dice, count, first, number, parts):
    """The calls of one lane: ticks one after the other, in each its parts."""
    took = np.stack([dice.lognormal(np.log(ms * MS), 0.25, count) for _, ms in parts]).astype(np.int64)
    tops = [index for index, (path, _) in enumerate(parts) if "/" not in path]
    for index, (path, _) in enumerate(parts):
        inside = [below for below, (other_path, _) in enumerate(parts) if other_path.startswith(f"{path}/")]
        if inside:
            took[index] = np.maximum(took[index], sum(took[below] for below in inside) + 1000)
    total = sum(took[index] for index in tops) + 20_000
    begins = np.cumsum(total) - total + number * 130_000
    starts, durations, nodes = [begins], [total], [np.full(count, first)]
    now = begins + 5_000
    for index, (path, _) in enumerate(parts):
        if "/" in path:
            continue
        starts.append(now)
        durations.append(took[index])
        nodes.append(np.full(count, first + 1 + index))
        inner = now + 200
        for below, (other_path, _) in enumerate(parts):
            if other_path.startswith(f"{path}/"):
                starts.append(inner)
                durations.append(took[below])
                nodes.append(np.full(count, first + 1 + below))
                inner = inner + took[below]
        now = now + took[index]
    start = np.concatenate(starts)
    return start, np.concatenate(durations), np.concatenate(nodes), np.full(len(start), number)


def _profile(timeline: Timeline) -> Profile:
    """The nodes that the calls are of."""

    def node(path: str, name: str) -> Node:
        below = [
            called.path for called in timeline.nodes if called.path.startswith(f"{path}/" if path else "")
        ]
        depth = len(path.split("/")) if path else 0
        names = sorted({node_path.split("/")[depth] for node_path in below if node_path != path})
        children = {
            node_path: node(f"{path}/{node_path}" if path else node_path, node_path) for node_path in names
        }
        index = next((index for index, called in enumerate(timeline.nodes) if called.path == path), -1)
        durations = timeline.duration_ns[timeline.node == index][:1000].tolist()
        inside = sum(child.total_ns - child.concurrent_ns for child in children.values())
        return Node(
            name=name, self_ns=max(0, sum(durations) - inside), steady=Stats.of(durations), children=children
        )

    return Profile(root=node("", "root"), metadata={"name": frozenset({"trainer"})})
