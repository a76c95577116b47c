"""skrl with torch: what a trainer and its agents do. Ticks are iterations: the timesteps up to an update, and that.

An agent that updates at every timestep has a tick for each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_after, ticks_within
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

ITERATION = "iteration"

_AGENTS = {"skrl.agents.torch.base": "Agent", "skrl.multi_agents.torch.base": "MultiAgent"}
_WRAPPERS = "skrl.envs.wrappers.torch.base"
_MEMORY = "skrl.memories.torch.base:Memory"
_TRAINERS, _STEP = "skrl.trainers.torch.base", "skrl.trainers.torch.step"

_TARGETS = [
    *(
        Target(f"{module}:{name}.{method}", method, subclasses=True)
        for module, name in _AGENTS.items()
        for method in ("act", "record_transition", "write_tracking_data", "write_checkpoint")
    ),
    *(
        Target(f"{_WRAPPERS}:{name}.{method}", f"env {method}", subclasses=True)
        for name in ("Wrapper", "MultiAgentEnvWrapper")
        for method in ("reset", "step", "render")
    ),
    Target(f"{_MEMORY}.add_samples", "memory add", subclasses=True),
    Target(f"{_MEMORY}.sample", "memory sample", subclasses=True, layer="sample"),
    Target(f"{_MEMORY}.sample_all", "memory sample", subclasses=True, layer="sample"),
    Target(f"{_TRAINERS}:Trainer.eval", "eval", subclasses=True),
]


@lru_cache(maxsize=1)
def _training(recorder: Recorder) -> Layer:  # noqa: ARG001 (each recorder has its own)
    """Where it is known which trainer trains."""
    return Layer()


def _is_stepped(trainer: Any) -> bool:
    """Whether a call of its `train` is one timestep: the loop is the program's."""
    steps = sys.modules.get(_STEP)
    return steps is not None and isinstance(trainer, steps.StepTrainer)


def _wrap_agents(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section, training = recorder.timed_section("update", NO_SITE), _training(recorder)

    def is_last(agent: Any, *_args: Any, uid: str | None = None, **_kwargs: Any) -> bool:
        """Whether no other update follows in the same timestep: agents may be several, and of several agents."""
        if uid is not None and uid != agent.possible_agents[-1]:
            return False
        agents = getattr(training.within, "agents", agent)
        return agent is (agents[-1] if isinstance(agents, (list, tuple)) else agents)

    def is_within() -> bool:
        trainer = training.within
        return trainer is not None and not _is_stepped(trainer)

    around = ticks_after(recorder, section, ITERATION, is_within, is_last)
    path = f"{_AGENTS[module.__name__]}.update"
    patches.section(module, path, section, subclasses=True, redirection=around)


def _wrap_trainers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("train", NO_SITE)
    around = ticks_within(recorder, section, ITERATION, begins=True)
    within = around.way
    assert within is not None

    def train(function: Callable[..., Any], /, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_stepped(trainer):
            return function(trainer, *args, **kwargs)
        return within(function, trainer, *args, **kwargs)

    around.way = train
    patches.section(
        module, "Trainer.train", section, _training(recorder), subclasses=True, redirection=around
    )


INSTRUMENT = Instrument(
    "skrl",
    tested=">=2.1.1,<2.2",
    targets=_TARGETS,
    hooks={**dict.fromkeys(_AGENTS, _wrap_agents), _TRAINERS: _wrap_trainers},
)
