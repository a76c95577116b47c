"""The training run that `visual_sac_overhead.py` starts twice: it trains on request and reports how long.

Each line on standard input is a kind of work, `collect` or `train:BATCH`, and a number of steps; each line of
the answer is the time on the clock and the processor time that it took, in nanoseconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ticktree

WORKLOAD = Path(__file__).parents[1] / "workloads" / "visual_sac"
CAPACITY = 1000


def build(filled: int) -> Callable[[str, int], None]:
    """The workload's own two loops, over a buffer with so many transitions in it."""
    sys.path.insert(0, str(WORKLOAD))
    import cv2
    import torch
    from visual_sac.agent import SacAgent, seed_everything
    from visual_sac.envs import ACTION_DIM, OBS_SHAPE, make_env
    from visual_sac.replay_buffer import ListBuffer
    from visual_sac.train import Rollout, fill, train

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    seed_everything(0)
    device = torch.device("cpu")
    replay_buffer = ListBuffer(CAPACITY, OBS_SHAPE, ACTION_DIM, device, seed=0)
    agent = SacAgent(OBS_SHAPE, ACTION_DIM, device)
    rollout = Rollout(make_env(normalize=True), replay_buffer, seed=0)
    fill(rollout, filled, seed=0)

    def work(kind: str, steps: int) -> None:
        loop, _, batch = kind.partition(":")
        if loop == "collect":
            fill(rollout, steps, seed=steps)
        else:
            train(rollout, agent, steps, int(batch), lambda *_: None)

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("filled", type=int, help="transitions in the buffer before anything else")
    work = build(parser.parse_args().filled)
    # The actual state of this process, not the requested one: a comparison of two disabled runs would mean nothing.
    print("recording" if ticktree.snapshot().root.children else "off", flush=True)
    for line in sys.stdin:
        kind, steps = line.split()
        wall_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        work(kind, int(steps))
        print(time.perf_counter_ns() - wall_ns, time.process_time_ns() - cpu_ns, flush=True)


if __name__ == "__main__":
    main()
