"""Callbacks: how training goes, and the summary of its operations on the way."""

from __future__ import annotations

import time
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ticktree.compat.profiling import get_profiler


class Progress(BaseCallback):
    """Prints a line a rollout: how many of its episodes were solved.

    Attributes:
        solved: by episode, in the order in which they ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self.solved: list[bool] = []
        self._told = 0
        self._began = time.perf_counter()

    def _on_step(self) -> bool:
        infos: list[dict[str, Any]] = self.locals["infos"]
        self.solved += [bool(info["solved"]) for info in infos if "episode" in info]
        return True

    def _on_rollout_end(self) -> None:
        ended = self.solved[self._told :]
        self._told = len(self.solved)
        share = f"{100 * sum(ended) / len(ended):.0f}% of {len(ended)} solved" if ended else "none ended"
        rate = self.num_timesteps / (time.perf_counter() - self._began)
        print(f"step {self.num_timesteps}: episodes: {share}, {rate:.1f} steps/s", flush=True)


class Summaries(BaseCallback):
    """Prints the summary of operations every so many steps.

    Args:
        every: steps; 0 for never.
    """

    def __init__(self, every: int) -> None:
        super().__init__()
        self._every = every
        self._printed = 0

    def _on_step(self) -> bool:
        if self._every and self.num_timesteps // self._every > self._printed:
            self._printed = self.num_timesteps // self._every
            get_profiler().print_summary()
        return True
