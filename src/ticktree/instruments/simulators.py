"""Simulators: the parts of a step of an environment or a scene. Times are the host's: the device may do it later.

An environment's step itself is gymnasium's `env.step`, or `envs.step`. Isaac Lab's manager-based environments have one
row per manager and one per term of it. In programs that mark nothing, the steps of a Genesis scene are ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ticktree.instruments.gymnasium import env_loop
from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

_MANAGERS = "isaaclab.managers"
# By the beginning of their terms' rows: the managers' classes, and the methods in which they do their work.
_WORK = {
    "action": ("ActionManager", "process_action", "apply_action"),
    "command": ("CommandManager", "compute"),
    "curriculum": ("CurriculumManager", "compute"),
    "event": ("EventManager", "apply"),
    "observation": ("ObservationManager", "compute"),
    "reward": ("RewardManager", "compute"),
    "termination": ("TerminationManager", "compute"),
}
# Terms that are objects, with the methods that their managers call; terms of other managers are functions, or objects
# of the first class.
_OBJECTS = {
    f"{_MANAGERS}.manager_base": ("ManagerTermBase", "__call__"),
    f"{_MANAGERS}.action_manager": ("ActionTerm", "process_actions", "apply_actions"),
    f"{_MANAGERS}.command_manager": ("CommandTerm", "compute"),
}
_RECORDING = (
    *("record_pre_step", "record_post_step", "record_post_physics_decimation_step"),
    *("record_pre_reset", "record_post_reset", "export_episodes"),
)

_ISAACLAB_TARGETS = [
    *methods(
        f"{_MANAGERS}.recorder_manager:RecorderManager",
        *_RECORDING,
        section="recorder manager",
        layer="recorder",
    ),
    *methods("isaaclab.sim.simulation_context:SimulationContext", "step", "render", title="sim "),
    *methods(
        "isaaclab.scene.interactive_scene:InteractiveScene", "update", "write_data_to_sim", title="scene "
    ),
]
for _kind, (_manager, *_names) in _WORK.items():
    _row = f"{_kind} manager"
    _ISAACLAB_TARGETS += methods(f"{_MANAGERS}.{_kind}_manager:{_manager}", *_names, section=_row, layer=_row)


# Only their configurations name the terms: by the identity of a configuration, which is stored, so that no other
# object can have it.
_labels: dict[int, tuple[Any, str]] = {}


def _wrap_manager(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Name the terms of each new manager, and make those that are functions sections."""
    kind = module.__name__.rpartition(".")[2].removesuffix("_manager")

    def make(init: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, cfg: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (its wrapper)
            terms = list(_terms_in(cfg, kind))
            for term, label in terms:
                _labels[id(term)] = (term, label)
            init(self, cfg, *args, **kwargs)
            for term, label in terms:
                if isinstance(getattr(term, "__dict__", {}).get("func"), FunctionType):
                    patches.section(term, "func", recorder.timed_section(label, NO_SITE))

        return __init__

    patches.wrap(module, f"{_WORK[kind][0]}.__init__", make)
    if module.__name__ in _OBJECTS:
        _wrap_objects(patches, module, recorder)


def _terms_in(config: Any, label: str) -> Iterator[tuple[Any, str]]:
    """Yield the configurations of a manager's terms with their names; those of observations are in groups."""
    fields = config if isinstance(config, dict) else getattr(config, "__dict__", {})
    for name, value in fields.items():
        if hasattr(value, "func") or hasattr(value, "class_type"):
            yield value, f"{label} {name}"
        elif label == "observation" and hasattr(value, "__dict__"):
            yield from _terms_in(value, f"{label} {name}")


def _wrap_objects(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    owner, *names = _OBJECTS[module.__name__]
    default = recorder.timed_section("term", NO_SITE)

    def term_section(term: Any) -> Section:
        _, label = _labels.get(id(getattr(term, "cfg", None)), (None, f"term {type(term).__name__}"))
        return recorder.timed_section(label, NO_SITE)

    layer, choice = Layer(), SectionsByObject(term_section)
    for name in names:
        patches.section(module, f"{owner}.{name}", default, layer, subclasses=True, choice=choice)


def _wrap_env(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap the step of `ManagerBasedEnv`, which is no gymnasium environment, as `ManagerBasedRLEnv` is."""
    section = recorder.timed_section("env.step", NO_SITE)
    patches.section(module, "ManagerBasedEnv.step", section, None, env_loop(recorder).begins)


ISAACLAB = Instrument(
    "isaaclab",
    targets=_ISAACLAB_TARGETS,
    hooks={
        **{f"{_MANAGERS}.{kind}_manager": _wrap_manager for kind in _WORK},
        f"{_MANAGERS}.manager_base": _wrap_objects,
        "isaaclab.envs.manager_based_env": _wrap_env,
    },
)

_MANI_SKILL_ENV = "mani_skill.envs.sapien_env:BaseEnv"
_MANI_SKILL_METHODS = (
    *("get_info", "evaluate", "get_obs", "get_reward", "capture_sensor_data", "get_sensor_images"),
)
MANI_SKILL = Instrument(
    "mani-skill",
    targets=[
        *methods(_MANI_SKILL_ENV, *_MANI_SKILL_METHODS),
        *methods("mani_skill.agents.base_agent:BaseAgent", "set_action", title="agent "),
        *methods("mani_skill.envs.scene:ManiSkillScene", "step", "update_render", title="scene "),
    ],
)

_SCENE = "genesis.engine.scene"


def _wrap_scene(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("scene.step", NO_SITE)
    patches.section(module, "Scene.step", section, None, unmarked_loop(recorder, "scene").begins)


GENESIS = Instrument(
    "genesis-world",
    targets=[
        *(Target(f"{_SCENE}:Scene.{name}", f"scene.{name}") for name in ("build", "reset", "read_sensors")),
        Target("genesis.engine.simulator:Simulator.step", "sim.step"),
        Target("genesis.vis.visualizer:Visualizer.update_on_sim_step", "visualizer.update_on_sim_step"),
        *methods("genesis.vis.camera:Camera", "render", title="camera."),
    ],
    hooks={_SCENE: _wrap_scene},
)
