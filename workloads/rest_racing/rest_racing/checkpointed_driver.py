"""The same step with the time noted after each part, and running means: the habit that ticktree.StepTimer keeps."""

from __future__ import annotations

from collections.abc import Sequence

import ticktree

from .controller import ControllerResult
from .driver import Driver
from .env import Observation, RestVisionEnv
from .pilot import Pilot

PARTS = ("controller", "environment", "preprocess")


class CheckpointedDriver(Driver):
    """A driver that notes the time.

    Args:
        env: The environment.
        pilots: The models that decide.
        after: How many first steps the means leave out.

    Attributes:
        cps: The running means, there whether or not anything else is recorded.
    """

    def __init__(self, env: RestVisionEnv, pilots: Sequence[Pilot], after: int) -> None:
        super().__init__(env, pilots)
        self.cps = ticktree.StepTimer("Driver.step", PARTS, after=after)

    def step(self) -> tuple[ControllerResult, Observation]:
        """Decide, act, and see what came of it; note the time after each."""
        cps = self.cps
        cps.start()
        ctrl_result = self._controller.step(self._p_obs)
        cps.append()
        env_result = self._env.step(ctrl_result.env_action)
        cps.append()
        self._p_obs = self._preprocess_obs_for_step(env_result)
        cps.stop()
        return ctrl_result, env_result
