"""skrl with torch: the methods of a trainer and its agents. Ticks are iterations: timesteps up to and with an update.

An agent that updates at every timestep has one tick per timestep.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, methods
from ticktree.instruments.ticks import ticks_after, ticks_within
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

_ITERATION = "iteration"
_training = Layer()  # tells which trainer trains

_AGENTS = {"skrl.agents.torch.base": "Agent", "skrl.multi_agents.torch.base": "MultiAgent"}
_WRAPPERS = "skrl.envs.wrappers.torch.base"
_MEMORY = "skrl.memories.torch.base:Memory"
_TRAINERS, _STEP = "skrl.trainers.torch.base", "skrl.trainers.torch.step"

_TARGETS = [
    *methods(_MEMORY, "add_samples", section="memory add"),
    *methods(_MEMORY, "sample", "sample_all", section="memory sample", layer="sample"),
    *methods(f"{_TRAINERS}:Trainer", "eval"),
]
for _module, _name in _AGENTS.items():
    _TARGETS += methods(
        f"{_module}:{_name}", "act", "record_transition", "write_tracking_data", "write_checkpoint"
    )
for _name in ("Wrapper", "MultiAgentEnvWrapper"):
    _TARGETS += methods(f"{_WRAPPERS}:{_name}", "reset", "step", "render", title="env ")


def _is_stepped(trainer: Any) -> bool:
    """Return whether a call of its `train` is one timestep: then the loop is the program's."""
    steps = sys.modules.get(_STEP)
    return steps is not None and isinstance(trainer, steps.StepTrainer)


def _wrap_agents(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("update", NO_SITE)

    def is_last(agent: Any, *_args: Any, uid: str | None = None, **_kwargs: Any) -> bool:
        """Return whether this is the timestep's last update: a trainer may have several agents, each for several."""
        if uid is not None and uid != agent.possible_agents[-1]:
            return False
        agents = getattr(_training.within, "agents", agent)
        return agent is (agents[-1] if isinstance(agents, (list, tuple)) else agents)

    def is_within() -> bool:
        trainer = _training.within
        return trainer is not None and not _is_stepped(trainer)

    around = ticks_after(recorder, section, _ITERATION, is_within, is_last)
    path = f"{_AGENTS[module.__name__]}.update"
    patches.section(module, path, section, subclasses=True, around=around)


def _wrap_trainers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("train", NO_SITE)
    around = ticks_within(recorder, section, _ITERATION, begin_first=True)

    def train(function: Callable[..., Any], /, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_stepped(trainer):
            return function(trainer, *args, **kwargs)
        return around(function, trainer, *args, **kwargs)

    patches.section(module, "Trainer.train", section, _training, subclasses=True, around=train)


INSTRUMENT = Instrument(
    "skrl",
    tested=">=2.1.1,<2.2",
    targets=_TARGETS,
    hooks={**dict.fromkeys(_AGENTS, _wrap_agents), _TRAINERS: _wrap_trainers},
)
