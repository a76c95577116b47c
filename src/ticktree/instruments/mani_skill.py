"""ManiSkill: what a step of an environment consists of. The step itself is gymnasium's `env.step`, or `envs.step`.

Times are the host's: the device may do later what is asked of it.
"""

from __future__ import annotations

from ticktree.instruments.targets import Instrument, Target

_ENV, _SCENE = "mani_skill.envs.sapien_env:BaseEnv", "mani_skill.envs.scene:ManiSkillScene"
_METHODS = ("get_info", "evaluate", "get_obs", "get_reward", "capture_sensor_data", "get_sensor_images")

INSTRUMENT = Instrument(
    "mani-skill",
    targets=[
        *(Target(f"{_ENV}.{name}", name, subclasses=True) for name in _METHODS),
        Target("mani_skill.agents.base_agent:BaseAgent.set_action", "agent set_action", subclasses=True),
        Target(f"{_SCENE}.step", "scene step", subclasses=True),
        Target(f"{_SCENE}.update_render", "scene update_render", subclasses=True),
    ],
)
