"""The remedy: a manager of players that sleeps until a step is in."""

from __future__ import annotations

from multiprocessing.connection import wait

from mlagents.trainers.env_manager import EnvironmentStep
from mlagents.trainers.subprocess_env_manager import SubprocessEnvManager
from mlagents_envs.timers import hierarchical_timer


class PatientEnvManager(SubprocessEnvManager):  # type: ignore[misc]  # unknown to who checks
    """The toolkit's, which otherwise asks its queue for a step as often as a core lets it, until one is there."""

    def _step(self) -> list[EnvironmentStep]:
        self._queue_steps()
        with hierarchical_timer("step_wait"):
            wait([self.step_queue._reader])
        steps: list[EnvironmentStep] = super()._step()
        return steps
