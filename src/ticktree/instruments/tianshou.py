"""tianshou: the parts of a trainer's `run`. Ticks are its training steps: one collection and the updates on it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, methods
from ticktree.instruments.ticks import Training
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

_STEP = "training step"
_TRAINING = Training(_STEP)

_COLLECTOR, _ALGORITHM = "tianshou.data.collector", "tianshou.algorithm.algorithm_base"
_BUFFER = "tianshou.data.buffer.buffer_base:ReplayBuffer"

_TARGETS = [
    *methods("tianshou.trainer:Trainer", "run", make_options=_TRAINING.run),
    *methods(f"{_ALGORITHM}:OnPolicyAlgorithm", "update"),
    *methods(f"{_ALGORITHM}:OffPolicyAlgorithm", "update"),
    # It collects nothing before an update.
    *methods(f"{_ALGORITHM}:OfflineAlgorithm", "update", make_options=_TRAINING.begin_tick),
    *methods("tianshou.env.venvs:BaseVectorEnv", "reset", "step", title="VectorEnv "),
    *methods(_BUFFER, "add", "sample", title="buffer ", layer="buffer"),
]


def _wrap_collector(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    collecting = recorder.timed_section("collect", NO_SITE)
    evaluating = recorder.timed_section("evaluate", NO_SITE)

    def collect(function: Callable[..., Any], /, collector: Any, *args: Any, **kwargs: Any) -> Any:
        trainer = _TRAINING.layer.within
        if trainer is not None and collector is trainer.params.test_collector:
            with evaluating:
                return function(collector, *args, **kwargs)
        if trainer is not None:
            recorder.tick(_STEP)
        with collecting:
            return function(collector, *args, **kwargs)

    patches.section(module, "BaseCollector.collect", collecting, Layer(), subclasses=True, around=collect)


INSTRUMENT = Instrument(
    "tianshou", tested=">=2.0.1,<2.1", targets=_TARGETS, hooks={_COLLECTOR: _wrap_collector}
)
