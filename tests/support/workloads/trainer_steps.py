"""Steps as an environment manager returns them, without environments."""

import numpy as np
from parallel_trainer.env_manager import EnvironmentStep
from parallel_trainer.ppo import ActionInfo
from parallel_trainer.worker import StepResult


def make_step(number, worker=0, ended=None):
    """Step number so and so: it answers observation `number`, leads to the next, and earns its number."""

    def seen(value):
        return np.full(2, value, np.float32)

    action = ActionInfo(seen(number), seen(-number)[:1], -float(number), seen(0.0)[:1])
    if ended is None:
        return EnvironmentStep(action, StepResult(worker, seen(number + 1), float(number)))
    result = StepResult(
        worker,
        seen(-100),
        float(number),
        ended == "terminated",
        ended == "truncated",
        final_obs=seen(number + 1),
    )
    return EnvironmentStep(action, result)
