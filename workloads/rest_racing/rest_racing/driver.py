"""The loop's one step: decide, act, see."""

from __future__ import annotations

from collections.abc import Sequence

from .controller import ControllerResult, MultiModelController
from .env import Observation, RestVisionEnv
from .perception import Perception
from .pilot import Pilot
from .preparation import Normaliser, PreparedObservation, prepared


class Driver:
    """Drives a car through an environment.

    Args:
        env: The environment.
        pilots: The models that decide; one or many.
    """

    def __init__(self, env: RestVisionEnv, pilots: Sequence[Pilot]) -> None:
        self._env = env
        self._pilots = pilots
        self._normalisers = [Normaliser(pilot) for pilot in pilots]
        self._p_obs: PreparedObservation

    def reset(self, seed: int) -> None:
        """Begin a game."""
        self._controller = MultiModelController(self._pilots)
        self._perception = Perception()
        self._p_obs = self._preprocess_obs_for_step(self._env.reset(seed))

    def step(self) -> tuple[ControllerResult, Observation]:
        """Decide, act, and see what came of it."""
        ctrl_result = self._controller.step(self._p_obs)
        env_result = self._env.step(ctrl_result.env_action)
        self._p_obs = self._preprocess_obs_for_step(env_result)
        return ctrl_result, env_result

    def _preprocess_obs_for_step(self, env_result: Observation) -> PreparedObservation:
        self._perception.add(env_result["derived"], env_result["image"])
        return prepared(self._normalisers, self._perception.window, self._perception.pictures)
