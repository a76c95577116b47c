"""A small training loop with a known result: one section does a configurable amount of additional work.

Run by compare_noisy.py, many times: its profile and the durations of single calls go to files, as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import ticktree

TICKS = 70
WARMUP = 10
ROUNDS = 40  # of the section that may be slower: two more are 5% more work
BATCH = 256
ROWS = 20_000


def train(rounds: int) -> tuple[ticktree.Recorder, list[int]]:
    """Runs the loop.

    Args:
        rounds: How many products the policy makes in a tick.

    Returns:
        What recorded it, and what each steady call of the policy took in ns.
    """
    noise = np.random.default_rng(0)
    replay = noise.integers(0, 255, (ROWS, 1024), dtype=np.uint8)
    weights = noise.normal(0, 0.05, (256, 256)).astype(np.float32)
    frames = np.empty((BATCH, 1024), np.float32)
    recorder = ticktree.Recorder()
    singles = []
    for _ in recorder.loop("train", range(TICKS), warmup=WARMUP):
        with recorder.section("sample"):
            for _ in range(4):
                np.divide(replay[noise.integers(0, ROWS, BATCH)], 255.0, out=frames, casting="unsafe")
        with recorder.section("policy"):
            start_ns = time.perf_counter_ns()
            hidden = frames[:64, :256]
            for _ in range(rounds):
                hidden = np.tanh(hidden @ weights)
            singles.append(time.perf_counter_ns() - start_ns)
        with recorder.section("environment"):
            state = float(hidden[0, 0])
            for _ in range(30_000):
                state = state * 0.999 + 0.001
        with recorder.section("update"):
            weights += np.float32(1e-6) * (frames[:, :256].T @ frames[:, 256:512]) / BATCH
    return recorder, singles[WARMUP:]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--slower", type=float, default=0.0, help="how much more work the policy does, in percent"
    )
    parser.add_argument("--out", type=Path, required=True, help="where the profile goes; singles next to it")
    arguments = parser.parse_args()
    recorder, singles = train(round(ROUNDS * (1 + arguments.slower / 100)))
    arguments.out.write_text(recorder.snapshot().to_json())
    arguments.out.with_suffix(".singles.json").write_text(json.dumps(singles))


if __name__ == "__main__":
    main()
