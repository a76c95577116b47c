"""tianshou: what a trainer's `run` does. Ticks are its training steps: one collection and the updates on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_within
from ticktree.recorder import Layer, Recorder, Redirection
from ticktree.recorder.site import NO_SITE

STEP = "training step"

_TRAINER, _COLLECTOR = "tianshou.trainer", "tianshou.data.collector"
_ALGORITHM = "tianshou.algorithm.algorithm_base"
_BUFFER = "tianshou.data.buffer.buffer_base:ReplayBuffer"

_TARGETS = [
    *(
        Target(f"{_ALGORITHM}:{name}.update", "update", subclasses=True)
        for name in ("OnPolicyAlgorithm", "OffPolicyAlgorithm")
    ),
    *(
        Target(f"tianshou.env.venvs:BaseVectorEnv.{name}", f"VectorEnv {name}", subclasses=True)
        for name in ("reset", "step")
    ),
    *(
        Target(f"{_BUFFER}.{name}", f"buffer {name}", subclasses=True, layer="buffer")
        for name in ("add", "sample")
    ),
]


@lru_cache(maxsize=1)
def _training(recorder: Recorder) -> Layer:  # noqa: ARG001 (each recorder has its own)
    """Where it is known which trainer runs."""
    return Layer()


def _wrap_trainer(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("run", NO_SITE)
    around = ticks_within(recorder, section, STEP)
    patches.section(module, "Trainer.run", section, _training(recorder), subclasses=True, redirection=around)


def _wrap_collector(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    training, around = _training(recorder), Redirection()
    collecting = recorder.timed_section("collect", NO_SITE)
    evaluating = recorder.timed_section("evaluate", NO_SITE)

    def collect(function: Callable[..., Any], /, collector: Any, *args: Any, **kwargs: Any) -> Any:
        trainer = training.within
        if trainer is not None and collector is trainer.params.test_collector:
            with evaluating:
                return function(collector, *args, **kwargs)
        if trainer is not None:
            recorder.tick(STEP)
        with collecting:
            return function(collector, *args, **kwargs)

    around.way = collect
    patches.section(module, "BaseCollector.collect", collecting, Layer(), subclasses=True, redirection=around)


def _wrap_algorithms(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps the update of offline algorithms, before which nothing is collected."""
    training = _training(recorder)

    def begin_step(_algorithm: Any) -> None:
        if training.within is not None:
            recorder.tick(STEP)

    section = recorder.timed_section("update", NO_SITE)
    patches.section(module, "OfflineAlgorithm.update", section, None, begin_step, subclasses=True)


INSTRUMENT = Instrument(
    "tianshou",
    tested=">=2.0.1,<2.1",
    targets=_TARGETS,
    hooks={_TRAINER: _wrap_trainer, _COLLECTOR: _wrap_collector, _ALGORITHM: _wrap_algorithms},
)
