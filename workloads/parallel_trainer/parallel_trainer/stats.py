"""How training goes: gauges under the names that timers files have, and a line for people."""

from __future__ import annotations

from collections import defaultdict

import ticktree


class StatsReporter:
    """Collects values between two summaries."""

    def __init__(self, behavior: str) -> None:
        self._behavior = behavior
        self._values: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        """Note a value, e.g. of `Losses/Policy Loss`; a summary has the mean and the sum of those noted."""
        self._values[name].append(value)

    def mean(self, name: str) -> float | None:
        """The mean of what was noted since the last summary."""
        values = self._values.get(name)
        return sum(values) / len(values) if values else None

    def write(self, step: int) -> None:
        """Make gauges of what was noted, print the line, and begin anew."""
        self.add("Step", step)
        for name, values in self._values.items():
            gauge = f"{self._behavior}.{name}".replace("/", ".").replace(" ", "")
            ticktree.gauge(f"{gauge}.mean", sum(values) / len(values))
            ticktree.gauge(f"{gauge}.sum", sum(values))
        print(self._line(step), flush=True)
        self._values.clear()

    def _line(self, step: int) -> str:
        reward = self.mean("Environment/Cumulative Reward")
        earned = "no episode ended" if reward is None else f"reward {reward:.1f}"
        shown = {
            "policy loss": "Losses/Policy Loss",
            "value loss": "Losses/Value Loss",
            "entropy": "Policy/Entropy",
        }
        losses = (f"{label} {self.mean(name):.4g}" for label, name in shown.items() if name in self._values)
        return "  ".join([f"step {step}: {earned}", *losses])
