"""A learner and three actors, each a process, the later ones slower: the program in the pictures of `ticktree top`.

Usage: ticktree run scripts/learner_and_actors.py SECONDS
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from multiprocessing.queues import Queue

import numpy as np
from numpy.typing import NDArray

import ticktree

ACTORS = 3
STEPS = 16
UPDATES_HZ = 5

Array = NDArray[np.float64]


def act(batches: Queue[Array], number: int, until_s: float) -> None:
    """Step an environment and send observations, a batch at a time."""
    ticktree.role("actor")
    chance = np.random.default_rng(number)
    while time.time() < until_s:
        with ticktree.section("collect"):
            for _ in range(STEPS):
                with ticktree.section("env step"):
                    with ticktree.section("physics"):
                        state = chance.normal(size=(30, 30))
                        state @ state.T
                        time.sleep(0.006 + 0.003 * number)
                    with ticktree.section("render"):
                        chance.normal(size=4000).sum()
                with ticktree.section("policy"):
                    weights = chance.normal(size=(48, 48))
                    np.tanh(weights @ weights)
            batches.put(chance.normal(size=200))


def learn(batches: Queue[Array], until_s: float) -> None:
    """Take batches and learn from them, five times a second; now and then an update takes too long."""
    chance = np.random.default_rng(9)
    for tick in ticktree.loop("train", hz=UPDATES_HZ, pace=True, warmup=2):
        if time.time() > until_s:
            break
        with ticktree.section("rollout"):
            for _ in range(4):
                with ticktree.section("wait for actors", wait=True):
                    batches.get()
        with ticktree.section("update"):
            for _ in range(4):
                with ticktree.section("forward"):
                    layer = chance.normal(size=(60, 60))
                    output = layer @ layer
                with ticktree.section("backward"):
                    gradient = output @ layer @ output
                with ticktree.section("optimizer"):
                    (gradient * 0.1).sum()
                    time.sleep(0.12 if tick % 31 == 30 else 0.01)
        ticktree.gauge("reward", round(100 - 90 * float(np.exp(-tick / 120)) + chance.normal(), 2))
        ticktree.gauge("policy loss", round(0.02 * float(np.exp(-tick / 90)) + chance.normal() / 400, 4))


def main() -> None:
    """Run for as many seconds as the command line sets."""
    until_s = time.time() + float(sys.argv[1])
    ticktree.role("learner")
    batches: Queue[Array] = multiprocessing.Queue(maxsize=8)
    with ticktree.section("start actors"):
        actors = [
            multiprocessing.Process(target=act, args=(batches, number, until_s)) for number in range(ACTORS)
        ]
        for actor in actors:
            actor.start()
    learn(batches, until_s)
    for actor in actors:
        actor.terminate()


if __name__ == "__main__":
    main()
