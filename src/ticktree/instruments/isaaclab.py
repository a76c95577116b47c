"""Isaac Lab: what a step of a manager-based environment consists of, by manager and by term.

The step itself is gymnasium's `env.step`. Times are the host's: the device may do later what a term asks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ticktree.instruments.gymnasium import env_loop
from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Hook, Instrument, Target
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

_MANAGERS, _SCENE = "isaaclab.managers", "isaaclab.scene.interactive_scene:InteractiveScene"
_SIMULATION = "isaaclab.sim.simulation_context:SimulationContext"
# A manager's class, what the rows of its terms begin with, and the methods in which they do their work.
_WORK = {
    "action": ("ActionManager", "process_action", "apply_action"),
    "command": ("CommandManager", "compute"),
    "curriculum": ("CurriculumManager", "compute"),
    "event": ("EventManager", "apply"),
    "observation": ("ObservationManager", "compute"),
    "reward": ("RewardManager", "compute"),
    "termination": ("TerminationManager", "compute"),
}
# Terms that are objects, with the methods that their managers call; of other managers a term is a function, or one of
# the first.
_OBJECTS = {
    "manager_base": ("ManagerTermBase", "__call__"),
    "action_manager": ("ActionTerm", "process_actions", "apply_actions"),
    "command_manager": ("CommandTerm", "compute"),
}
_RECORDING = (
    *("record_pre_step", "record_post_step", "record_post_physics_decimation_step"),
    *("record_pre_reset", "record_post_reset", "export_episodes"),
)

_TARGETS = [
    *(
        Target(
            f"{_MANAGERS}.{kind}_manager:{manager}.{name}", f"{kind} manager", True, layer=f"{kind} manager"
        )
        for kind, (manager, *names) in _WORK.items()
        for name in names
    ),
    *(
        Target(
            f"{_MANAGERS}.recorder_manager:RecorderManager.{name}", "recorder manager", True, layer="recorder"
        )
        for name in _RECORDING
    ),
    *(Target(f"{_SIMULATION}.{name}", f"sim {name}", True) for name in ("step", "render")),
    *(Target(f"{_SCENE}.{name}", f"scene {name}", True) for name in ("update", "write_data_to_sim")),
]


class _Terms:
    """The rows of terms: what a term is called is only known of its configuration."""

    def __init__(self) -> None:
        # By the identity of a configuration; it is kept, for no other to have that.
        self._labels: dict[int, tuple[Any, str]] = {}

    def name(self, config: Any, label: str) -> None:
        self._labels[id(config)] = (config, label)

    def label(self, term: Any) -> str:
        _, label = self._labels.get(id(getattr(term, "cfg", None)), (None, f"term {type(term).__name__}"))
        return label


_terms = _Terms()


def _naming(kind: str) -> Hook:
    """What names the terms of a manager's kind as it is made, and makes sections of those that are functions."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        def make(init: Callable[..., Any]) -> Callable[..., Any]:
            def __init__(self: Any, cfg: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (what it is)
                named = list(_terms_in(cfg, kind))
                for term, label in named:
                    _terms.name(term, label)
                init(self, cfg, *args, **kwargs)
                for term, label in named:
                    if isinstance(getattr(term, "__dict__", {}).get("func"), FunctionType):
                        patches.section(term, "func", recorder.timed_section(label, NO_SITE))

            return __init__

        patches.wrap(module, f"{_WORK[kind][0]}.__init__", make)

    return wrap


def _terms_in(config: Any, label: str) -> Iterator[tuple[Any, str]]:
    """The configurations of a manager's terms, with the name of each; those of observations are in groups."""
    fields = config if isinstance(config, dict) else getattr(config, "__dict__", {})
    for name, value in fields.items():
        if hasattr(value, "func") or hasattr(value, "class_type"):
            yield value, f"{label} {name}"
        elif label == "observation" and hasattr(value, "__dict__"):
            yield from _terms_in(value, f"{label} {name}")


def _wrap_objects(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    owner, *names = _OBJECTS[module.__name__.rpartition(".")[2]]
    own = recorder.timed_section("term", NO_SITE)

    def section_of(term: Any) -> Section:
        return recorder.timed_section(_terms.label(term), NO_SITE)

    layer, choice = Layer(), SectionsByObject(section_of)
    for name in names:
        patches.section(module, f"{owner}.{name}", own, layer, subclasses=True, choice=choice)


def _both(*hooks: Hook) -> Hook:
    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        for hook in hooks:
            hook(patches, module, recorder)

    return wrap


def _wrap_env(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps the step of what is no gymnasium environment; that of `ManagerBasedRLEnv` is one's."""
    section = recorder.timed_section("env.step", NO_SITE)
    patches.section(module, "ManagerBasedEnv.step", section, None, env_loop(recorder).begins)


_HOOKS = {kind: _naming(kind) for kind in _WORK}
INSTRUMENT = Instrument(
    "isaaclab",
    targets=_TARGETS,
    hooks={
        **{f"{_MANAGERS}.{kind}_manager": hook for kind, hook in _HOOKS.items()},
        **{
            f"{_MANAGERS}.{kind}_manager": _both(_HOOKS[kind], _wrap_objects)
            for kind in ("action", "command")
        },
        f"{_MANAGERS}.manager_base": _wrap_objects,
        "isaaclab.envs.manager_based_env": _wrap_env,
    },
)
