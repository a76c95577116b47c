"""d3rlpy: `fit` and `fit_online`. Ticks are gradient steps, including the sampling or collecting for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.instruments.ticks import ticks_after, ticks_within
from ticktree.recorder import Layer, Recorder
from ticktree.recorder.site import NO_SITE

STEP = "step"

_ALGORITHMS = {
    "d3rlpy.algos.qlearning.base": ("QLearningAlgoBase", "fit_online"),
    "d3rlpy.algos.transformer.base": ("TransformerAlgoBase", "fit"),
}
_BUFFER = "d3rlpy.dataset.replay_buffer:ReplayBufferBase"
_LOGGER = "d3rlpy.logging.logger:D3RLPyLogger"
_QLEARNING = "d3rlpy.algos.qlearning.base:QLearningAlgoBase"

_TARGETS = [
    *methods(_QLEARNING, "fit", "sample_action", "predict", "collect"),
    *methods(
        _BUFFER,
        *("sample_transition_batch", "sample_trajectory_batch"),
        section="buffer sample",
        layer="sample",
    ),
    *methods(_BUFFER, "append", title="buffer "),
    *methods("d3rlpy.metrics.evaluators:EvaluatorProtocol", "__call__", section="evaluate"),
    Target(f"{_LOGGER}.commit", "logger commit"),
    Target(f"{_LOGGER}.save_model", "logger save_model"),
]


def _wrap_algorithms(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    owner, *names = _ALGORITHMS[module.__name__]
    layer, epochs = Layer(), list[None]()
    for name in names:
        section = recorder.timed_section(name, NO_SITE)
        around = ticks_within(recorder, section, STEP, begin_first=True)
        patches.section(module, f"{owner}.{name}", section, layer, subclasses=True, around=around)
    section = recorder.timed_section("update", NO_SITE)
    around = ticks_after(recorder, section, STEP, lambda: epochs or layer.within is not None)
    patches.section(module, f"{owner}.update", section, subclasses=True, around=around)
    if hasattr(getattr(module, owner), "fitter"):
        patches.wrap_in_subclasses(module, f"{owner}.fitter", _make_fitter(recorder, epochs))


def _make_fitter(recorder: Recorder, epochs: list[None]) -> Callable[..., Any]:
    """Make each epoch of a generator a section that contains ticks, but not the caller's work between epochs.

    While an epoch runs, `epochs` has an entry.
    """
    section = recorder.timed_section("fitter", NO_SITE)

    def run_epochs(generator: Any) -> Iterator[Any]:
        with closing(generator):
            while True:
                epochs.append(None)
                try:
                    with section:
                        recorder.tick(STEP)
                        epoch = next(generator, None)
                finally:
                    epochs.pop()
                if epoch is None:
                    return
                yield epoch

    def make(function: Callable[..., Any], _owner: type) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return run_epochs(function(self, *args, **kwargs))

        return wrapper

    return make


INSTRUMENT = Instrument("d3rlpy", targets=_TARGETS, hooks=dict.fromkeys(_ALGORITHMS, _wrap_algorithms))
