"""The loop's one step: decide, act, observe."""

from __future__ import annotations

from collections.abc import Sequence

import ticktree

from .controller import ControllerResult, MultiModelController
from .env import Obs, RestVisionEnv
from .policies import Normalizer, ObsHistory, Policy, PreparedObs, prepare_obs


class Driver:
    """Drives a car through an environment.

    Args:
        env: The environment.
        policies: One or many.
    """

    def __init__(self, env: RestVisionEnv, policies: Sequence[Policy]) -> None:
        self._env = env
        self._policies = policies
        self._normalizers = [Normalizer(policy) for policy in policies]
        self._p_obs: PreparedObs

    def reset(self, seed: int) -> None:
        """Begin a game."""
        self._controller = MultiModelController(self._policies)
        self._history = ObsHistory()
        self._p_obs = self._preprocess_obs_for_step(self._env.reset(seed))

    def step(self) -> tuple[ControllerResult, Obs]:
        """Decide, act, observe."""
        ctrl_result = self._controller.step(self._p_obs)
        env_result = self._env.step(ctrl_result.env_action)
        self._p_obs = self._preprocess_obs_for_step(env_result)
        return ctrl_result, env_result

    def _preprocess_obs_for_step(self, env_result: Obs) -> PreparedObs:
        self._history.add(env_result["derived"], env_result["image"])
        return prepare_obs(self._normalizers, self._history.window, self._history.images)


PARTS = ("controller", "environment", "preprocess")


class CheckpointedDriver(Driver):
    """The same step with the time noted after each part: the habit that `ticktree.StepTimer` keeps.

    Args:
        env: The environment.
        policies: One or many.
        after: The means leave out this many first steps.

    Attributes:
        cps: The running means, with or without a recording.
    """

    def __init__(self, env: RestVisionEnv, policies: Sequence[Policy], after: int) -> None:
        super().__init__(env, policies)
        self.cps = ticktree.StepTimer("Driver.step", PARTS, after=after)

    def step(self) -> tuple[ControllerResult, Obs]:
        """Decide, act, observe; note the time after each."""
        cps = self.cps
        cps.start()
        ctrl_result = self._controller.step(self._p_obs)
        cps.append()
        env_result = self._env.step(ctrl_result.env_action)
        cps.append()
        self._p_obs = self._preprocess_obs_for_step(env_result)
        cps.stop()
        return ctrl_result, env_result
