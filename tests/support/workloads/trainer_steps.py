"""Steps as a manager of environments gives them, without any."""

from __future__ import annotations

import numpy as np
from parallel_trainer.env_manager import EnvironmentStep
from parallel_trainer.messages import Outcome
from parallel_trainer.policy import ActionInfo


def make_step(number, worker=0, ended=None):
    """Step number so and so: it answers observation `number`, leads to the next, and earns its number."""

    def seen(value):
        return np.full(2, value, np.float32)

    action = ActionInfo(seen(number), seen(-number)[:1], -float(number), seen(0.0)[:1])
    if ended is None:
        return EnvironmentStep(action, Outcome(worker, seen(number + 1), float(number)))
    outcome = Outcome(
        worker,
        seen(-100),
        float(number),
        ended == "terminated",
        ended == "truncated",
        final=seen(number + 1),
    )
    return EnvironmentStep(action, outcome)
