"""lerobot's robot client, which also knows the age of what it acts on. Its import opens lerobot's log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lerobot.async_inference.robot_client import RobotClient


class DatedClient(RobotClient):  # type: ignore[misc,unused-ignore]
    """Keeps the time of each observation until a chunk comes of it. `sensed_at` is that of the newest chunk's."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.sensed_at: float | None = None
        self._sent: dict[int, float] = {}

    def send_observation(self, obs: Any) -> bool:
        """Send it. Of several of one step the first counts: the server answers each step once."""
        self._sent.setdefault(obs.get_timestep(), self.robot.sensed_at)
        return bool(super().send_observation(obs))

    def _aggregate_action_queues(
        self, incoming_actions: list[Any], aggregate_fn: Callable[..., Any] | None = None
    ) -> None:
        """Take a chunk in: its first action has the step of its observation. What is older has no more answer."""
        super()._aggregate_action_queues(incoming_actions, aggregate_fn)
        step = incoming_actions[0].get_timestep()
        self.sensed_at = self._sent.get(step, self.sensed_at)
        self._sent = {known: at for known, at in list(self._sent.items()) if known > step}
